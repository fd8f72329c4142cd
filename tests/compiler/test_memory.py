"""Plans need less memory than eager execution, and compute the same."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import genesis
import pytest
from genesis import nn

from tests.compiler.test_compile import bits, plans, same_as_eager, training

F = nn.functional


def peak(run: Callable[[], Any]) -> int:
    for _ in range(4):
        run()
    gc.collect()
    before = genesis.memory.allocated()
    genesis.memory.reset_peak()
    run()
    return genesis.memory.peak() - before


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Any) -> Any:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + x)


class Mixer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        return x + self.down(F.gelu(self.up(self.norm(x))))


def images() -> tuple[Any, Any, list[Any]]:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), *(Residual(16) for _ in range(3)), nn.Flatten()
    )
    step = training(model, genesis.optim.SGD(model.parameters(), lr=0.01), F.mse_loss)
    return model, step, [(genesis.randn(4, 3, 32, 32), genesis.randn(4, 16 * 32 * 32))]


def rows() -> tuple[Any, Any, list[Any]]:
    model = nn.Sequential(*(Mixer(96) for _ in range(4)))
    step = training(model, genesis.optim.Adam(model.parameters(), lr=0.001), F.mse_loss)
    return model, step, [(genesis.randn(512, 96), genesis.randn(512, 96))]


@pytest.mark.parametrize("make", [images, rows])
def test_a_training_step_needs_less_memory(make: Any) -> None:
    _, step, args = make()
    eager = peak(lambda: step(*args[0]))
    compiled = same_as_eager(make)
    assert "repeated" in str(compiled.plan)
    _, step, args = make()
    step = genesis.compile(step)
    assert peak(lambda: step(*args[0])) < 0.9 * eager


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("make", [images, rows])
def test_repeated_calls_are_bitwise_equal(make: Any, threads: int) -> None:
    before = genesis.get_num_threads()
    genesis.set_num_threads(threads)
    try:
        same_as_eager(make, calls=4)
    finally:
        genesis.set_num_threads(before)


def test_a_model_with_its_own_backward_pass_keeps_what_it_needs() -> None:
    results = []
    for compiled in (False, True):
        genesis.manual_seed(0)
        model, _, args = images()
        call = genesis.compile(model) if compiled else model
        x = args[0][0].requires_grad_(True)
        for _ in range(4):
            x.grad = None
            a, b = call(x), call(x * 2)  # two runs alive at once
            (a * b).sum().backward()
        results.append([bits(x.grad), *(bits(p.grad) for p in model.parameters())])
        if compiled:
            assert plans(call)
    assert results[0] == results[1]


def test_gradients_that_the_function_reads_are_kept() -> None:
    w = genesis.randn(300, 300, requires_grad=True)

    @genesis.compile
    def step(x: Any) -> Any:
        old = w.grad * 0.5
        w.grad = None
        (x @ w).sum().backward()
        return old

    x = genesis.randn(4, 300)
    w.grad = genesis.ones(300, 300)
    expected = None
    for _ in range(4):
        found = step(x)
        if expected is not None:
            assert bits(found) == bits(expected)
        expected = w.grad * 0.5
    assert plans(step)


def test_a_result_does_not_take_the_place_of_an_operand_that_is_read_again() -> None:
    def f(x: Any) -> Any:
        a = (x @ x).exp()
        b = a * 2
        c = b.flip(0) + b  # reads other elements of b
        return (c @ x) + (c.t() * b)

    x = genesis.randn(256, 256) * 0.01
    c = genesis.compile(f, check=True)
    for _ in range(3):
        assert bits(c(x)) == bits(f(x))
    assert plans(c)
