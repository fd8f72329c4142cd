"""Allocations that fail: MemoryError, the library still works, and nothing is lost.

One case makes one allocation of one scenario fail: case n is allocation n of scenario n modulo their
number, until a scenario runs to its end without meeting it; later cases let several fail in a row.
"""

from __future__ import annotations

import gc
import io
import random
from collections.abc import Callable, Iterator
from typing import Any

import genesis
from genesis import _C, nn
from genesis.nn import functional as F

from tests.fuzz.finding import Finding, one_line
from tests.fuzz.target import Target

NEVER = 1 << 62


def _train(model: nn.Module, optimizer: Any, x: genesis.Tensor, y: genesis.Tensor) -> None:
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()


def _step(
    make: Callable[[], nn.Module], optimizer: str, shape: tuple[int, ...]
) -> Callable[[], Any]:
    """A whole step of training of a new model, so that nothing is left of the one before."""

    def run() -> None:
        genesis.manual_seed(3)
        model = make()
        _train(
            model,
            getattr(genesis.optim, optimizer)(model.parameters(), lr=0.01),
            genesis.randn(shape),
            genesis.arange(shape[0]) % 3,
        )

    return run


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: genesis.Tensor) -> genesis.Tensor:
        return self.head(self.layer(x).mean(1))


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(4, 6, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x: genesis.Tensor) -> genesis.Tensor:
        return self.head(self.layer(x)[0][:, -1])


def _views() -> None:
    x = genesis.arange(24.0).reshape(4, 6)
    w = genesis.ones(6, requires_grad=True)
    x[1:3] = w * 2
    part = x[:, ::2]
    part += w[:3]
    y = genesis.cat([part.reshape(-1), x[x > 3], x.sort(1)[0].flatten()])
    genesis.autograd.grad(y.pow(2).sum(), w, create_graph=True)[0].sum().backward()


def _linalg() -> None:
    a = genesis.eye(5) * 3 + genesis.ones(5, 5)
    a.requires_grad_()
    (
        genesis.linalg.inv(a).sum() + genesis.linalg.svdvals(a).sum() + genesis.linalg.det(a)
    ).backward()


def _save_and_load() -> None:
    file = io.BytesIO()
    genesis.save({"w": genesis.ones(300), "t": [genesis.zeros(3), 1]}, file)
    file.seek(0)
    genesis.load(file)


def _transforms() -> None:
    x = genesis.arange(3.0)
    genesis.func.hessian(lambda t: (t**3).sum())(x)
    genesis.func.jacrev(lambda t: t.sin() * 2)(x)


def _large() -> None:
    x = genesis.ones(400, 300, requires_grad=True)
    (F.softmax(x @ x.t(), -1).sum() + x.sort(0)[0].sum()).backward()


SCENARIOS: dict[str, Callable[[], Any]] = {
    "a step of an MLP": _step(
        lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3)), "Adam", (6, 5)
    ),
    "a step of a convolutional network": _step(
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(36, 3)), "SGD", (4, 2, 6, 6),
    ),
    "a step of a transformer": _step(_Attention, "AdamW", (3, 4, 8)),
    "a step of a recurrent network": _step(_Recurrent, "RMSprop", (3, 4, 4)),
    "views and higher gradients": _views,
    "linear algebra": _linalg,
    "saving and loading": _save_and_load,
    "transforms": _transforms,
    "large tensors": _large,
}  # fmt: skip


class Counting:
    """Allocations of the library's own allocator, counted and made to fail (core/allocator.h)."""

    name = "allocation"

    def arm(self, first: int, last: int) -> None:
        _C._fail_allocations(first, last)

    def disarm(self) -> int:
        return _C._fail_allocations(-1, -1)


def run_failing(
    counting: Any, run: Callable[[], Any], first: int, last: int
) -> tuple[int, BaseException | None]:
    """How many allocations there were, and what came of it."""
    error: BaseException | None = None
    counting.arm(first, last)
    try:
        run()
    except BaseException as caught:
        error = caught
    finally:
        count = counting.disarm()
    if error is not None:  # its frames hold tensors
        error.__traceback__ = None
        error.__context__ = error.__cause__ = None
    return count, error


class Allocations(Target):
    seconds = 30.0
    count_names = ("allocations that failed", "of them raised MemoryError")

    def __init__(self) -> None:
        self.counting = Counting()
        self.sizes: dict[str, int] = {}
        self.number = 0

    def case(self, rng: random.Random) -> Iterator[Finding]:
        name = rng.choice(list(SCENARIOS))
        if name not in self.sizes:
            SCENARIOS[name]()  # what is kept for good is made now
            self.sizes[name] = run_failing(self.counting, SCENARIOS[name], NEVER, NEVER)[0]
        first = rng.randrange(self.sizes[name])
        last = first + rng.choice([1, 1, 1, 2, 5, NEVER])
        yield from self.fail(name, first, last)

    def fail(self, name: str, first: int, last: int) -> Iterator[Finding]:
        run = SCENARIOS[name]
        code = f"{name}: {self.counting.name} {first}" + ("" if last == first + 1 else f" to {last - 1}" if last < NEVER else " and all after")  # fmt: skip
        self.note(f"{code}(")
        gc.collect()
        before = genesis.memory.allocated()
        count, error = run_failing(self.counting, run, first, last)
        self.counts[0] += count > first
        self.counts[1] += isinstance(error, MemoryError)
        if count > first and error is None and last == first + 1:
            pass  # some callers do without what they could not have, such as a cache
        elif error is not None and not isinstance(error, MemoryError):
            yield Finding("not MemoryError", name, one_line(error), code)
        error = None
        gc.collect()
        left = genesis.memory.allocated() - before
        if left:
            yield Finding("leak", name, f"{left} bytes are still allocated", code)
        try:
            run()
        except Exception as error:
            yield Finding("unusable afterwards", name, one_line(error), code)
        if not genesis.is_grad_enabled():
            yield Finding("state", name, "grad mode is off afterwards", code)


def every(counting: Any, scenario: str) -> Iterator[tuple[int, int]]:
    """First and last of every allocation of a scenario, one after the other."""
    SCENARIOS[scenario]()
    count = run_failing(counting, SCENARIOS[scenario], NEVER, NEVER)[0]
    for n in range(count):
        yield n, n + 1
