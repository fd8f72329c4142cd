"""Random programs, differentiated in every way there is: all must agree."""

import random

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, Tape, grad
from genesis.autograd.graph import saved_tensors_hooks

SEEDS = range(12)
UNARY = ["tanh", "sin", "exp", "sigmoid", "relu", "square"]


class Unary(Function):
    """A unary operator by way of a Function, whose gradient is that of the operator."""

    @staticmethod
    def forward(ctx, x, name):
        ctx.name_ = name
        ctx.save_for_backward(x)
        return getattr(x, name)()

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        with genesis.enable_grad():
            t = x if x.requires_grad else x.detach().requires_grad_()
            y = getattr(t, ctx.name_)()
        return grad(y, t, dy, create_graph=genesis.is_grad_enabled())[0]


class Mix(Function):
    """a * b, sum over rows of a: two outputs, a list of arguments."""

    @staticmethod
    def forward(ctx, pair):
        ctx.save_for_backward(*pair)
        return pair[0] * pair[1], pair[0].sum(0, keepdim=True)

    @staticmethod
    def backward(ctx, dp, ds):
        a, b = ctx.saved_tensors
        return [dp * b + ds, dp * a]


def program(seed, wrapped):
    """A function of three matrices, the same for both values of `wrapped`."""

    def run(*inputs):
        rng = random.Random(seed)
        pool = list(inputs)
        for _ in range(12):
            kind, a, b = rng.randrange(7), rng.choice(pool), rng.choice(pool)
            if kind <= 1:
                name = rng.choice(UNARY)
                y = Unary.apply(a * 0.5, name) if wrapped else getattr(a * 0.5, name)()
            elif kind == 2:
                y = a @ b * 0.3
            elif kind == 3:
                p, s = Mix.apply([a, b]) if wrapped else (a * b, a.sum(0, keepdim=True))
                y = (p + s) * 0.2
            elif kind == 4:
                y = genesis.cat([a[1:], b[:1]])
            elif kind == 5:
                y = a.clone()
                y[0] = b[1] * 2
                y[:, 1:].mul_(0.5)
            else:
                y = a.T + b
            pool.append(y.tanh())
        return sum((t * t).mean() for t in pool[3:])

    return run


def inputs(seed, requires_grad):
    rng = np.random.default_rng(seed)
    return [
        genesis.tensor(
            rng.standard_normal((3, 3)), dtype=genesis.float64, requires_grad=requires_grad
        )
        for _ in range(3)
    ]


def first_and_second(f, xs):
    gs = grad(f(*xs), xs, create_graph=True, materialize_grads=True)
    hs = grad(sum((g * g).sum() for g in gs), xs, materialize_grads=True)
    return [t.detach().numpy() for t in (*gs, *hs)]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_way_to_differentiate_agrees(seed):
    plain, wrapped = program(seed, False), program(seed, True)
    expected = first_and_second(plain, inputs(seed, True))

    def packed(*xs):
        with saved_tensors_hooks(lambda t: t.numpy().copy(), genesis.from_numpy):
            return wrapped(*xs)

    for f in (wrapped, packed):
        for a, b in zip(first_and_second(f, inputs(seed, True)), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)

    for f in (plain, wrapped):
        xs, tape = inputs(seed, False), Tape()
        with tape:
            loss = f(*xs)
        first = tape.backward(loss, create_graph=True)
        gs = [first.get(x, genesis.zeros_like(x)) for x in xs]
        with tape:
            total = sum((g * g).sum() for g in gs)
        second = tape.backward(total)
        got = [
            t.detach().numpy() for t in (*gs, *(second.get(x, genesis.zeros_like(x)) for x in xs))
        ]
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)

    xs = inputs(seed, True)
    packed(*xs).backward()
    for x, b in zip(xs, expected, strict=False):
        np.testing.assert_allclose(
            0 * b if x.grad is None else x.grad.numpy(), b, rtol=1e-9, atol=1e-12
        )
