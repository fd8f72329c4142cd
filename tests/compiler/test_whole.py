"""Sums and means of all elements as part of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import genesis
import pytest

from tests.compiler.test_compile import bits


@pytest.fixture(params=[1, 2, 7])
def threads(request: Any) -> Iterator[int]:
    before = genesis.get_num_threads()
    genesis.set_num_threads(request.param)
    yield request.param
    genesis.set_num_threads(before)


def mean_square(a: Any, b: Any) -> Any:
    return ((a - b) ** 2).mean()


def two_sums(a: Any, b: Any) -> Any:
    c = a * b
    return c.sum(), (c.exp() + a).sum(), c


def used_afterwards(a: Any, b: Any) -> Any:
    return a - (a * b).mean(), (a + b).sum() * 2


def of_a_view(a: Any, b: Any) -> Any:
    c = a * 2 + b
    return c.view(-1)[3:].sum() + c.sum()


@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float64, genesis.bfloat16])
@pytest.mark.parametrize("n", [4, 255, 4096, 4097, 32768, 32769, 300_001])
@pytest.mark.parametrize("function", [mean_square, two_sums, used_afterwards, of_a_view])
def test_same_bits(function: Callable[..., Any], n: int, dtype: Any, threads: int) -> None:
    genesis.manual_seed(n)
    f = genesis.compile(function, check=True)
    for _ in range(3):
        a, b = genesis.randn(n).to(dtype), genesis.randn(n).to(dtype)
        found, wanted = f(a, b), function(a, b)
        found = found if isinstance(found, tuple) else (found,)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        assert [bits(x) for x in found] == [bits(x) for x in wanted]
    assert f.entries[0].plan is not None


def test_no_memory_for_what_is_summed() -> None:
    f = genesis.compile(mean_square)
    for _ in range(3):
        f(genesis.ones(1000, 100), genesis.zeros(1000, 100))
    (header, *_) = str(f.plan).splitlines()[1:]
    assert "3 in 1 groups, 0 by themselves; arena of 0 bytes" in header


def test_backward(threads: int) -> None:
    w = genesis.randn(300, 200, requires_grad=True)

    def step(x: Any) -> Any:
        loss = ((x * w).tanh() ** 2).mean() + w.sum()
        (grad,) = genesis.autograd.grad(loss, w)
        return loss.detach(), grad, grad.sum()

    f = genesis.compile(step, check=True)
    for _ in range(4):
        x = genesis.randn(300, 200)
        assert [bits(t) for t in f(x)] == [bits(t) for t in step(x)]
