"""Function: what backward returns, errors, and differentiating once."""

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, grad
from genesis.autograd.function import once_differentiable

from tests.autograd.functions import function
from tests.autograd.leaves import leaf, same

# --- what backward returns


@pytest.mark.parametrize(
    "result, count", [(lambda g: (g, g, g), 3), (lambda g: (g,), 1), (lambda g: g, 1)]
)
def test_the_wrong_number_of_gradients_is_an_error(result, count):
    f = function(lambda ctx, x, y: x * y, lambda ctx, g: result(g), "Wrong")
    with pytest.raises(
        RuntimeError, match=rf"WrongBackward.*number of gradients \(expected 2, got {count}\)"
    ):
        f.apply(leaf(1.0), leaf(1.0)).backward()


def test_none_may_be_left_out_or_added():
    x = leaf(1.0)
    for backward in (
        lambda ctx, g: g,
        lambda ctx, g: (g, None),
        lambda ctx, g: (g, None, None, None),
    ):
        function(lambda ctx, x, note: x * 1, backward).apply(x, "note").backward()
    same(x.grad, [3])


def test_no_gradient_at_all():
    x = leaf(1.0)
    function(lambda ctx, x: x * 1, lambda ctx, g: None).apply(x).backward()
    assert x.grad is None


def test_the_wrong_shape_of_a_gradient_is_an_error():
    f = function(lambda ctx, x: x * 1, lambda ctx, g: genesis.ones(2, 3), "Wrong")
    with pytest.raises(
        ValueError, match=r"WrongBackward: gradient 0 has shape \(2, 3\).*shape \(2,\)"
    ):
        f.apply(leaf(1.0, 2.0)).sum().backward()


def test_a_broadcast_gradient_is_summed():
    f = function(lambda ctx, x, y: x + y, lambda ctx, g: (g, g))
    x, y = genesis.ones(3, 1, requires_grad=True), genesis.ones(4, requires_grad=True)
    f.apply(x, y).sum().backward()
    same(x.grad, np.full((3, 1), 4))
    same(y.grad, np.full(4, 3))


def test_gradients_are_tensors_of_floats():
    f = function(lambda ctx, x: x * 1, lambda ctx, g: 3.0, "Wrong")
    with pytest.raises(
        TypeError, match="WrongBackward: gradient 0 must be a Tensor or None, got float"
    ):
        f.apply(leaf(1.0)).backward()
    f = function(lambda ctx, x: x * 1, lambda ctx, g: g.long(), "Wrong")
    with pytest.raises(TypeError, match="WrongBackward: gradient 0 must be floating, got int64"):
        f.apply(leaf(1.0)).backward()


def test_a_gradient_of_another_float_dtype_is_cast():
    x = leaf(1.0)
    function(lambda ctx, x: x * 1, lambda ctx, g: g.double()).apply(x).backward()
    assert x.grad.dtype == genesis.float32


def test_missing_methods_are_named():
    class Half(Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    with pytest.raises(NotImplementedError, match="Half: write backward"):
        Half.apply(leaf(1.0)).backward()
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (Function,), {}).apply(leaf(1.0))
    with pytest.raises(RuntimeError, match=r"Half\.apply"):
        Half()(leaf(1.0))


def test_exceptions_come_out_of_apply_and_backward_and_leave_the_graph_usable():
    fail = [True]

    def backward(ctx, g):
        if fail.pop():
            fail.append(False)
            raise KeyError("from backward")
        return g * 2

    def forward(ctx, x):
        if x is None:
            raise IndexError("from forward")
        return x * 2

    f = function(forward, backward)
    with pytest.raises(IndexError, match="from forward"):
        f.apply(None)
    x = leaf(1.0)
    y = f.apply(x * 3).sum()
    with pytest.raises(KeyError, match="from backward"):
        y.backward()
    assert genesis.is_grad_enabled()
    fail[:] = [False]
    y.backward()
    same(x.grad, [6])


# --- differentiating once


def test_once_differentiable_gives_gradients_and_refuses_the_second():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not genesis.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    Square.apply(x).backward()
    same(x.grad, [6])
    (g,) = grad(Square.apply(x).sum(), x, create_graph=True)
    same(g, [6])
    with pytest.raises(RuntimeError, match="SquareBackward.*once_differentiable"):
        g.sum().backward()


def test_once_differentiable_keeps_the_signature_of_backward():
    @once_differentiable
    def backward(ctx, g, out_idx):
        return g * (out_idx + 1)

    x = leaf(1.0)
    sum(function(lambda ctx, x: (x * 1, x * 2), backward).apply(x)).backward()
    same(x.grad, [3])
