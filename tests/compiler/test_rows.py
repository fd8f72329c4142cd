"""Reductions of rows in groups, with what uses their results: the bits are those of eager."""

from __future__ import annotations

from typing import Any

import genesis
import pytest
from genesis import _C


def bits(t: Any) -> bytes:
    return _C._to_bytes(t.detach())


def norm(x: Any, w: Any, b: Any) -> Any:
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return genesis.tanh((x - mean) * genesis.rsqrt(var + 1e-5) * w + b)


def softmax(x: Any, w: Any, b: Any) -> Any:
    e = genesis.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True) * w + b


def several_results(x: Any, w: Any, b: Any) -> Any:
    scale = (x * x).sum(-1, keepdim=True).sqrt()
    return x / scale, scale, x.amin(-1), (x * w).prod(-1) + scale.squeeze(-1)


def in_place(x: Any, w: Any, b: Any) -> Any:
    total = x.sum(-1, keepdim=True)
    y = x * total
    total.mul_(2)
    return y + total, total


def not_rows(x: Any, w: Any, b: Any) -> Any:
    total = x.sum(-1, keepdim=True)
    return x - total, x * total.flip(0), x.sum(0), (x * x).sum()


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(
    "shape", [(64, 256), (3, 5, 300), (2, 4096), (1, 512), (9, 5000), (40, 8), (300, 64), (50, 127)]
)
@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float64])
@pytest.mark.parametrize("f", [norm, softmax, several_results, in_place, not_rows])
def test_bits(f, shape, dtype, threads, num_threads):
    genesis.set_num_threads(threads)
    args = [genesis.randn(*s, dtype=dtype) for s in (shape, shape[-1:], shape[-1:])]
    compiled = genesis.compile(f)
    result = f(*args)
    expected = [bits(t) for t in (result if isinstance(result, tuple) else (result,))]
    for _ in range(3):
        result = compiled(*args)
        assert [bits(t) for t in (result if isinstance(result, tuple) else (result,))] == expected
    assert compiled.eager is None and "graph break" not in str(compiled.plan)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_gradients(threads, num_threads):
    genesis.set_num_threads(threads)
    shapes = (32, 512), (512,), (512,)
    args = [genesis.randn(*s).requires_grad_() for s in shapes]

    def step(*args: Any) -> Any:
        y = norm(*args)
        return y.detach(), *genesis.autograd.grad((y * y).sum(), args)

    compiled = genesis.compile(step)
    expected = [bits(t) for t in step(*args)]
    for _ in range(3):
        assert [bits(t) for t in compiled(*args)] == expected


def test_a_normalization_is_one_group():
    args = [genesis.randn(*s) for s in ((64, 256), (256,), (256,))]
    compiled = genesis.compile(norm)
    for _ in range(2):
        compiled(*args)
    assert "in 1 groups, 0 by themselves" in str(compiled.plan)


def test_half_precision():
    x = genesis.randn(16, 256).bfloat16()
    compiled = genesis.compile(lambda x: (x.float().sum(-1, keepdim=True) * x).bfloat16())
    expected = bits((x.float().sum(-1, keepdim=True) * x).bfloat16())
    for _ in range(3):
        assert bits(compiled(x)) == expected


@pytest.mark.parametrize("name", ["amax", "amin", "max"])
def test_gradients_of_extremes_with_nan_and_ties(name):
    def step(x: Any) -> Any:
        y = getattr(x, name)(-1, keepdim=True)
        y = y if isinstance(y, genesis.Tensor) else y.values
        loss = (genesis.exp(x - y) * 0.5).sum()
        return loss.detach(), *genesis.autograd.grad(loss, (x,))

    compiled = genesis.compile(step)
    for last in (0.0, 1.0, float("nan"), 3.0):
        x = genesis.randn(8, 300).round()
        x[-1, -1] = last
        x.requires_grad_()
        assert [bits(t) for t in compiled(x)] == [bits(t) for t in step(x)]
    assert "graph break" not in str(compiled.plan)
