"""Function: saved tensors, and arguments that are changed in place."""

import genesis
import pytest
from genesis.autograd import Function, gradgradcheck

from tests.autograd.functions import Exp, Mul, function
from tests.autograd.leaves import leaf, same

# --- saving


def test_saving_twice_adds():
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        ctx.save_for_backward(None, y)
        assert len(ctx.saved_tensors) == 3
        return x * y

    def backward(ctx, g):
        x, nothing, y = ctx.saved_tensors
        assert nothing is None
        return g * y, g * x

    assert gradgradcheck(function(forward, backward).apply, (leaf(2.0), leaf(3.0)))


def test_saved_inputs_are_the_tensors_themselves_and_saved_outputs_lead_back():
    x = leaf(1.0)
    z = Mul.apply(x, x)
    assert z.grad_fn.saved_tensors[0] is x
    y = Exp.apply(x)
    (saved,) = y.grad_fn.saved_tensors
    assert saved.grad_fn is y.grad_fn
    assert saved.data_ptr() == y.data_ptr()


def test_a_saved_tensor_changed_in_place_is_noticed():
    x = leaf(1.0) * 1
    y = Mul.apply(x, x)
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"'Mul' saved.*changed in place by 'add_'"):
        y.backward()
    y = Exp.apply(leaf(1.0))
    y.detach().zero_()
    with pytest.raises(RuntimeError, match=r"'Exp' saved.*in place"):
        y.backward()


def test_saved_tensors_are_freed_by_backward():
    y = Exp.apply(leaf(1.0))
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="'Exp' has been freed"):
        y.backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn.saved_tensors


def test_only_tensors_can_be_saved_and_only_in_forward():
    f = function(lambda ctx, x: ctx.save_for_backward(x, 3), None, "Wrong")
    with pytest.raises(TypeError, match=r"Wrong: save_for_backward.*argument 1 is int"):
        f.apply(leaf(1.0))
    y = Exp.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="save_for_backward must be called in forward"):
        y.grad_fn.save_for_backward(y)


def test_attributes_of_the_context_are_free():
    def forward(ctx, x):
        ctx.inputs, ctx.metadata, ctx.variable, ctx.name_, ctx.op = 1, 2, 3, 4, 5
        return x * 2

    y = function(
        forward, lambda ctx, g: g * ctx.inputs * ctx.metadata * ctx.variable * ctx.op
    ).apply(x := leaf(1.0))
    assert y.grad_fn.inputs == 1
    y.backward()
    same(x.grad, [30])
    z = Exp.apply(x)
    assert z.grad_fn.inputs[0] is x
    assert z.grad_fn.metadata == {}


# --- in place


class Clamp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        ctx.mark_dirty(x)
        return x.clamp_(min=0)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_forward_may_change_an_argument_in_place():
    x = leaf(-1.0, 2.0)
    h = x * 3
    version = h._version
    y = Clamp.apply(h)
    assert y is h
    assert h._version > version
    assert repr(h.grad_fn) == "<ClampBackward>"
    (h * 5).sum().backward()
    same(x.grad, [0, 15])


def test_a_view_changed_in_place_changes_its_base():
    x = leaf(-1.0, 2.0, -3.0)
    h = x * 3
    Clamp.apply(h[1:])
    (h * genesis.tensor([1.0, 10.0, 100.0])).sum().backward()
    same(x.grad, [3, 30, 0])


def test_a_leaf_cannot_be_changed_in_place():
    for x in (leaf(1.0), genesis.nn.Parameter(genesis.ones(1))):
        with pytest.raises(RuntimeError, match="leaf"):
            Clamp.apply(x)
        with genesis.no_grad():
            Clamp.apply(x)
        assert x.is_leaf


def test_what_is_dirty_must_be_an_argument_and_be_returned():
    def forget(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2) * 1

    def stranger(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with pytest.raises(
        RuntimeError, match="Forget: an argument that was given to mark_dirty must be returned"
    ):
        function(forget, None, "Forget").apply(leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="Stranger: mark_dirty was given"):
        function(stranger, None, "Stranger").apply(leaf(1.0) * 1)
