"""A hook may change the values of the gradients that it is shown, but not their shapes."""

import genesis
import pytest


def resize(grad):
    grad.resize_(7)


def retype(grad):
    grad.data = genesis.ones(3, dtype=genesis.float64)


@pytest.mark.parametrize("how", [resize, retype])
@pytest.mark.parametrize("leaf", [False, True])
def test_of_a_tensor(how, leaf):
    x = genesis.ones(3, requires_grad=True)
    y = x if leaf else x * 2
    y.register_hook(how)
    with pytest.raises(RuntimeError, match="register_hook: the hook made .* in place"):
        (y * 3).sum().backward()


@pytest.mark.parametrize("how", [resize, retype])
def test_of_a_node(how):
    x = genesis.ones(3, requires_grad=True)
    for register in ("register_prehook", "register_hook"):
        y = x * 2
        getattr(y.grad_fn, register)(lambda grads, *_: how(grads[0]))
        with pytest.raises(
            RuntimeError, match=f"{register}: the hook .*made a gradient .* in place"
        ):
            (y * 3).sum().backward()


def test_after_accumulation():
    x = genesis.ones(3, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad.resize_(7))
    with pytest.raises(RuntimeError, match="left a gradient of shape"):
        (x * 3).sum().backward()


def test_values_may_change():
    x = genesis.ones(3, requires_grad=True)
    x.register_hook(lambda grad: grad.mul_(2))
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0] * 3
