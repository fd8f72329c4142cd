"""The checker that the rest relies on."""

import genesis
import pytest
from genesis.autograd import GradcheckError, gradcheck, gradgradcheck

from tests.autograd.leaves import leaf


def _function(forward, backward):
    """A function with a backward of our choice, right or wrong: a hook replaces the gradient."""

    def made(x):
        inner = x * 1
        y = forward(inner)
        arrived = []
        y.register_hook(lambda dy: arrived.append(dy))
        inner.register_hook(lambda dx: backward(arrived.pop(), x))
        return y

    return made


def test_gradcheck_promotes_float32_and_takes_several_inputs_and_outputs():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    index = genesis.tensor([1, 0])
    assert gradcheck(lambda x: (x**2).sum(), x, eps=1e-6) is True
    assert gradcheck(lambda x, i, y: (x * y, (x / y)[i], i), (x, index, y), order=2) is True
    assert gradcheck(lambda x, y: x @ y, (x, genesis.ones(2)), fast_mode=True, order=3) is True
    assert gradgradcheck(lambda x: x.exp(), x) is True
    assert x.grad is None


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_shows_where_a_gradient_is_wrong(fast_mode):
    wrong = _function(lambda x: x.exp(), lambda dy, x: dy * x.exp() * genesis.tensor([1.0, 1.5]))
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda a, x: (a, wrong(x)), (leaf(1.0), leaf(0.0, 0.0)), fast_mode=fast_mode)
    text = str(caught.value)
    assert "output 1" in text
    assert "input 1" in text
    assert "1 of 4" in text
    assert "output[1] / d input[1]: analytic 1.5, numeric 1" in text
    assert gradcheck(wrong, leaf(0.0, 0.0), raise_exception=False, fast_mode=fast_mode) is False


def test_gradcheck_notices_a_gradient_that_is_missing():
    with pytest.raises(GradcheckError, match="analytic 0, numeric 2"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))
    assert gradcheck(lambda x: x.floor(), leaf(1.5))


def test_gradcheck_of_second_order_notices_a_constant_in_the_backward():
    once = _function(lambda x: x.exp(), lambda dy, x: dy * x.detach().exp())
    assert gradcheck(once, leaf(1.0, 2.0))
    with pytest.raises(GradcheckError, match="gradgradcheck"):
        gradcheck(once, leaf(1.0, 2.0), order=2)


def test_gradcheck_notices_noise():
    noise = iter(range(100))
    noisy = _function(lambda x: x * 2, lambda dy, x: dy * (2 + 1e-7 * next(noise)))
    with pytest.raises(GradcheckError, match="nondet_tol"):
        gradcheck(noisy, leaf(1.0))
    assert gradcheck(noisy, leaf(1.0), nondet_tol=1e-3)


def test_gradcheck_wants_something_to_check():
    with pytest.raises(ValueError, match="requires_grad"):
        gradcheck(lambda x: x, genesis.ones(2))
