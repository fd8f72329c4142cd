"""The checker that the rest relies on."""

import genesis
import pytest
from genesis.autograd import Function, GradcheckError, gradcheck, gradgradcheck

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


def test_gradcheck_of_modules():
    layer, x = genesis.nn.Linear(3, 2), leaf([[1.0, 2.0, 3.0]])
    assert gradcheck(layer, x, order=2)
    assert layer.weight.dtype == genesis.float32
    assert gradcheck(genesis.nn.Linear(3, 2).double(), x)
    with pytest.raises(
        TypeError, match=r"converted to float64, with tensors of another.*double\(\)"
    ):
        gradcheck(lambda x: layer(x), x)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_shows_where_a_gradient_is_wrong(fast_mode):
    wrong = _function(lambda x: x.exp(), lambda dy, x: dy * x.exp() * genesis.tensor([1.0, 1.5]))
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda a, x: (a, wrong(x)), (leaf(1.0), leaf(0.0, 0.0)), fast_mode=fast_mode)
    text = str(caught.value)
    assert "output 1" in text
    assert "input 1" in text
    assert "1 of 4" in text
    assert text.splitlines()[1].split() == ["output", "input", "its", "value", "analytic", "numeric", "difference"]  # fmt: skip
    assert text.splitlines()[2].split() == ["[1]", "[1]", "0", "1.5", "1", "0.5"]
    assert len(text.splitlines()) == 3
    assert gradcheck(wrong, leaf(0.0, 0.0), raise_exception=False, fast_mode=fast_mode) is False


def test_gradcheck_notices_a_gradient_that_is_missing():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))
    assert str(caught.value).split()[-6:] == ["[0]", "[0]", "1", "0", "2", "-2"]
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
    with pytest.raises(ValueError, match="order"):
        gradcheck(lambda x: x, leaf(1.0), order=0)
    with pytest.raises(ValueError, match="eps"):
        gradcheck(lambda x: x, leaf(1.0), eps=0)
    with pytest.raises(TypeError, match="got float as output 1"):
        gradcheck(lambda x: (x, 1.0), leaf(1.0))


def test_gradcheck_lists_the_worst_first():
    factors = genesis.tensor([1.0, 1.1, 3.0, 1.5, 1.2, 1.3, 1.4])
    wrong = _function(lambda x: x.sin(), lambda dy, x: dy * x.cos() * factors)
    with pytest.raises(GradcheckError, match="6 of 49 derivatives") as caught:
        gradcheck(wrong, leaf(*[0.1 * i for i in range(7)]))
    places = [line.split()[0] for line in str(caught.value).splitlines()[2:]]
    assert places == ["[2]", "[3]", "[6]", "[5]", "[4]"]


def test_gradcheck_says_when_an_output_is_too_coarse():
    with pytest.raises(GradcheckError, match="float32, too coarse"):
        gradcheck(lambda x: x.float() ** 3, leaf(1.0, 2.0))


def test_fast_mode_finds_one_wrong_element_of_many():
    factors = genesis.ones(300)
    factors[123] = 1.01
    wrong = _function(lambda x: x.exp(), lambda dy, x: dy * x.exp() * factors)
    x = genesis.linspace(-1, 1, 300).requires_grad_()
    with pytest.raises(GradcheckError, match="1 of 90000"):
        gradcheck(wrong, x, fast_mode=True)


def test_a_missing_gradient_counts_as_zero():
    def made(right):
        """Two outputs; the gradient of the first is right if that of the second came before."""

        def function(x):
            arrived = []
            first, second = x * 1, x * 2
            second.register_hook(lambda g: arrived.append(True))
            first.register_hook(lambda g: g if right or (arrived and arrived.pop()) else g * 3)
            return first, second

        return function

    assert gradcheck(made(True), leaf(1.0, 2.0))
    with pytest.raises(GradcheckError, match="None for zeros"):
        gradcheck(made(False), leaf(1.0, 2.0))


class _Both(Function):
    """x and 2x; backward does not expect that a gradient may be missing."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    @staticmethod
    def backward(ctx, first, second):
        return first + 2 * second


def test_a_backward_that_fails_on_none():
    with pytest.raises(GradcheckError, match="fails if the other outputs have no gradient"):
        gradcheck(_Both.apply, leaf(1.0, 2.0))
    for fast_mode in (False, True):
        assert gradcheck(_Both.apply, leaf(1.0, 2.0), check_undefined_grad=False, fast_mode=fast_mode)  # fmt: skip


def test_gradgradcheck_takes_gradients_of_outputs():
    x = leaf(1.0, 2.0)
    assert gradgradcheck(lambda x: (x**3, x.sum()), x, (genesis.tensor([2.0, 1.0]), genesis.ones(())))  # fmt: skip
    assert gradgradcheck(lambda x: x**3, x, genesis.ones(2).requires_grad_(), order=2)
    assert gradgradcheck(lambda x: x**3, x, gen_non_contig_grad_outputs=True, fast_mode=True)
    assert gradgradcheck(lambda x: x.floor().detach(), x)
    with pytest.raises(ValueError, match="1 outputs require grad"):
        gradgradcheck(lambda x: x**3, x, (x, x))
    once = _function(lambda x: x.exp(), lambda dy, x: dy * x.detach().exp())
    assert gradgradcheck(once, x, raise_exception=False) is False


def test_gradcheck_of_forward_mode():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    both = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(lambda x, y: (x * y.exp(), x.sum()), (x, y), **both, check_batched_grad=True)
    assert gradcheck(lambda x: x @ x, x, check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(lambda x: x**3, x, check_fwd_over_rev=True, check_rev_over_rev=False)
    z = genesis.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    assert gradcheck(lambda z: z * z, z, check_forward_ad=True)

    class Twice(Function):
        @staticmethod
        def forward(x):
            return 2 * x

        @staticmethod
        def setup_context(ctx, inputs, output): ...

        @staticmethod
        def backward(ctx, dy):
            return 2 * dy

        @staticmethod
        def jvp(ctx, tangent):
            return 3 * tangent

    assert gradcheck(Twice.apply, x)
    with pytest.raises(GradcheckError, match="forward_ad"):
        gradcheck(Twice.apply, x, check_forward_ad=True)
    with pytest.raises(GradcheckError, match="forward_ad"):
        gradcheck(Twice.apply, x, check_forward_ad=True, check_backward_ad=False, fast_mode=True)
    wrong = _function(lambda x: 2 * x, lambda dy, x: 3 * dy)
    assert gradcheck(lambda x: 2 * x, x, check_forward_ad=True, check_backward_ad=False)
    assert not gradcheck(wrong, x, raise_exception=False)


def test_options_that_exclude_each_other():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="both False"):
        gradcheck(lambda x: x, x, check_backward_ad=False)
    with pytest.raises(ValueError, match="check_batched_forward_grad needs check_forward_ad"):
        gradcheck(lambda x: x, x, check_batched_forward_grad=True)
