"""Rules compute the gradients that a pass is after, and no others."""

import genesis
import pytest
from genesis import nn


def gradients_computed(y):
    """What the rule of y's node gives for each input, whether or not anybody takes it."""
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append([g is not None for g in inputs]))
    return seen


@pytest.mark.parametrize(
    "op, shapes",
    [
        (lambda x, w: nn.functional.conv2d(x, w), [(1, 2, 4, 4), (3, 2, 2, 2)]),
        (lambda x, w: x @ w, [(3, 4), (4, 5)]),
    ],
    ids=["conv2d", "matmul"],
)
def test_only_the_gradients_that_are_asked_for_are_computed(op, shapes):
    x, w = (genesis.ones(shape, requires_grad=True) for shape in shapes)
    y = op(x, w)
    seen = gradients_computed(y)
    genesis.autograd.grad(y.sum(), x, retain_graph=True)
    genesis.autograd.grad(y.sum(), w, retain_graph=True)
    y.sum().backward(inputs=[x], retain_graph=True)
    y.sum().backward()
    assert [flags[:2] for flags in seen] == [
        [True, False], [False, True], [True, False], [True, True],
    ]  # fmt: skip


def test_a_pass_within_a_rule_asks_for_itself():
    """The inner pass wants all, whatever the outer one left out, and the outer one goes on as it was."""
    seen = []

    class Through(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, dy):
            before = ctx.needs_input_grad
            a, b = (t.detach().requires_grad_() for t in ctx.saved_tensors)
            with genesis.enable_grad():
                inner = a * b
            inner.backward(dy)
            seen.append((before, a.grad is not None, b.grad is not None, ctx.needs_input_grad))
            return (a.grad if ctx.needs_input_grad[0] else None), b.grad

    x, w = (genesis.tensor([2.0, 3.0], requires_grad=True) for _ in range(2))
    (dw,) = genesis.autograd.grad(Through.apply(x, w).sum(), w)
    assert dw.tolist() == [2.0, 3.0]
    assert seen == [((False, True), True, True, (False, True))]
    Through.apply(x, w).sum().backward()
    assert seen[1][0] == (True, True)
