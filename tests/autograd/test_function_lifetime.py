"""Function: lifetime of its contexts, and comparison with PyTorch."""

import gc
import weakref

import genesis
import numpy as np
import pytest
from genesis.autograd import Function

from tests.autograd.functions import Exp, function
from tests.autograd.leaves import leaf, same

# --- life


def _dies(make):
    alive = weakref.ref(make())
    gc.collect()
    return alive() is None


def test_a_function_that_saves_its_output_has_no_cycle():
    y = Exp.apply(leaf(1.0))
    alive = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["y", "x", "ctx"])
def test_cycles_through_the_context_are_collected(name):
    def make():
        def forward(ctx, x):
            y = x * 2
            setattr(ctx, name, {"y": y, "x": x, "ctx": ctx}[name])
            return y

        y = function(forward, lambda ctx, g: g).apply(leaf(1.0))
        y.sum().backward()
        return y

    assert _dies(make)


def test_a_class_that_closes_over_its_result_is_collected():
    def make():
        box = []
        f = function(lambda ctx, x: x * 2, lambda ctx, g: g * len(box))
        box.append(f.apply(leaf(1.0)))
        return box[0]

    assert _dies(make)


def test_a_long_chain_of_contexts_is_destroyed():
    def forward(ctx, x):
        ctx.x = x
        return x * 1

    f = function(forward, lambda ctx, g: g)
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = f.apply(y)
    y.backward()
    same(x.grad, [1])
    del y


def test_the_same_as_pytorch():
    torch = pytest.importorskip("torch")

    def run(lib, function, tensor):
        class Scale(function):
            @staticmethod
            def forward(ctx, x, y, factor):
                z = x * y
                ctx.save_for_backward(x, y, z)
                ctx.factor = factor
                n = (x > 0).sum()
                ctx.mark_non_differentiable(n)
                return z * factor, z.sin(), n

            @staticmethod
            def backward(ctx, a, b, c):
                x, y, z = ctx.saved_tensors
                d = a * ctx.factor + b * z.cos()
                return d * y, (d * x).sum(0), None

        x = tensor([[1.0, -2.0], [0.5, 3.0]])
        y = tensor([0.3, 0.7])
        a, b, n = Scale.apply(x, y, 2.5)
        gx, gy = lib.autograd.grad((a * b * b).sum(), (x, y), create_graph=True)
        gxx, gxy = lib.autograd.grad((gx * gx).sum() + gy.sum(), (x, y))
        return [t.detach().numpy() for t in (a, b, n, gx, gy, gxx, gxy)]

    ours = run(
        genesis, Function, lambda d: genesis.tensor(d, dtype=genesis.float64, requires_grad=True)
    )
    theirs = run(
        torch,
        torch.autograd.Function,
        lambda d: torch.tensor(d, dtype=torch.float64, requires_grad=True),
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def _written_for_pytorch(lib):
    """Functions as they are written for PyTorch, run with `lib`; returns results and gradients."""

    class Affine(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias=None):
            ctx.save_for_backward(x, weight, bias)
            y = x.mm(weight.t())
            if bias is not None:
                y += bias.unsqueeze(0).expand_as(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            x, weight, bias = ctx.saved_tensors
            dx = dweight = dbias = None
            if ctx.needs_input_grad[0]:
                dx = dy.mm(weight)
            if ctx.needs_input_grad[1]:
                dweight = dy.t().mm(x)
            if bias is not None and ctx.needs_input_grad[2]:
                dbias = dy.sum(0)
            return dx, dweight, dbias

    class StraightThrough(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx, dy):
            return dy.clamp(-1, 1)

    class Reverse(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, dy):
            return dy.neg() * ctx.strength, None

    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            _, derivative = output
            ctx.save_for_backward(x, derivative)

        @staticmethod
        def backward(ctx, dy, dderivative):
            x, derivative = ctx.saved_tensors
            return dy * derivative + dderivative * 6 * x

    rng = np.random.default_rng(0)
    x, w, b = (
        lib.tensor(rng.standard_normal(s), dtype=lib.float64, requires_grad=True)
        for s in ((4, 3), (2, 3), (2,))
    )
    h = Affine.apply(x, w, b) + Affine.apply(x, w) * 0.5
    gate = StraightThrough.apply(h)
    y, slope = Cube.apply(Reverse.apply(h, 0.3))
    loss = (gate * y + slope.sin()).sum()
    first = lib.autograd.grad(loss, (x, w, b), create_graph=True)
    second = lib.autograd.grad(sum((g * g).sum() for g in first), (x, w, b))
    return [t.detach().numpy() for t in (h, gate, y, slope, *first, *second)]


def test_functions_written_for_pytorch_do_here_what_they_do_there():
    torch = pytest.importorskip("torch")
    pairs = zip(_written_for_pytorch(genesis), _written_for_pytorch(torch), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
