"""Matrix products that plans merge, copy operands of, or add in: the bits are those of eager."""

from __future__ import annotations

import re
from typing import Any

import genesis
import pytest
from genesis import _C


def bits(t: Any) -> bytes:
    return _C._to_bytes(t.detach())


def joined(f: Any) -> int:
    found = re.search(r"(\d+) joined to products", str(f.plan))
    assert found, str(f.plan)
    return int(found[1])


def same(f: Any, *args: Any) -> Any:
    """Compares a compiled function with the function, bit by bit."""
    compiled = genesis.compile(f)
    expected = [bits(t) for t in f(*args)]
    for _ in range(3):
        assert [bits(t) for t in compiled(*args)] == expected
    assert compiled.eager is None
    return compiled


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(
    "batch, inputs, width", [(16, 32, 64), (1, 32, 64), (3, 5, 7), (2, 400, 24), (40, 17, 33)]
)
@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float64])
def test_recurrent_network(batch, inputs, width, dtype, threads, num_threads):
    genesis.set_num_threads(threads)
    xs = genesis.randn(12, batch, inputs, dtype=dtype)
    shapes = (inputs, width), (width, width), (width,)
    weights = [(genesis.randn(*s, dtype=dtype) * 0.2).requires_grad_() for s in shapes]

    def step(wx: Any, wh: Any, bias: Any) -> Any:
        h = genesis.zeros(batch, width, dtype=dtype)
        for t in range(12):
            h = genesis.tanh(xs[t] @ wx + h @ wh + bias)
        loss = (h * h).mean()
        return loss.detach(), *genesis.autograd.grad(loss, (wx, wh, bias))

    compiled = same(step, *weights)
    if width == 64 and batch == 16:
        assert joined(compiled) > 30


def test_sums_longer_than_one_pass_are_not_joined():
    a, b, c = genesis.randn(8, 1000), genesis.randn(1000, 32), genesis.randn(8, 32)
    assert joined(same(lambda a, b, c: (a @ b + c,), a, b, c)) == 0
    assert joined(same(lambda a, b, c: (a[:, :300] @ b[:300] + c,), a, b, c)) == 1


def test_a_product_that_is_read_twice_stays():
    a, b = genesis.randn(8, 16), genesis.randn(16, 8)

    def f(a: Any, b: Any) -> Any:
        y = a @ b
        return y + b[:8], y * 2

    assert joined(same(f, a, b)) == 0


def test_an_operand_that_changes_between_products():
    xs, w = genesis.randn(6, 16, 32), genesis.randn(32, 64)

    def f(xs: Any, w: Any) -> Any:
        w = w.clone()
        y = genesis.zeros(16, 64)
        for x in xs:
            p = x @ w
            w.mul_(1.5)
            y = y + p
        return y, w

    same(f, xs, w)


def test_a_transposed_operand_that_changes_between_products():
    x, w = genesis.randn(16, 32), genesis.randn(64, 32)

    def f(x: Any, w: Any) -> Any:
        w, y = w.clone(), genesis.zeros(16, 64)
        for _ in range(5):
            y = y + x @ w.T
            w.add_(1)
        return (y,)

    same(f, x, w)


def test_parts_of_a_merged_product_are_merged():
    def f(x: Any, w: Any, v: Any) -> Any:
        y = [x[8 * i : 8 * i + 8] @ w for i in range(3)]
        z = [y[2][:4] @ v, y[2][4:] @ v]
        return y[0] + y[1], genesis.cat(z)

    args = genesis.randn(24, 16), genesis.randn(16, 16), genesis.randn(16, 16)
    assert joined(same(f, *args)) == 3
