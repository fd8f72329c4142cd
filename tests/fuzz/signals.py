"""A signal at a random moment, whose handler raises: as Ctrl-C does.

Afterwards the library works and gives the same results, nothing is lost, and files are whole.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import genesis
from genesis import nn
from genesis.nn import functional as F

from tests.fuzz.faults import SCENARIOS
from tests.fuzz.finding import Finding, one_line
from tests.fuzz.target import Target


class Interrupted(BaseException):
    """What the handler raises."""


def _reference() -> bytes:
    """A computation with threads whose result must always be the same."""
    genesis.manual_seed(5)
    x = genesis.randn(200, 300, requires_grad=True)
    (F.softmax(x @ x.t(), -1).pow(2).sum() + x.sort(1)[0].mean()).backward()
    return x.grad.numpy().tobytes()


class Signals(Target):
    seconds = 30.0
    count_names = ("signals that interrupted something",)

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "state.safetensors")
        self.expected = _reference()
        self.armed = False
        signal.signal(signal.SIGALRM, self.handler)
        self.activities: dict[str, Callable[[], Any]] = SCENARIOS | {
            "saving to a path": lambda: genesis.save({"x": genesis.ones(20_000)}, self.path),
            "large product": lambda: genesis.ones(500, 500) @ genesis.ones(500, 500),
            "loading a mapped file": lambda: genesis.load(self.path, mmap=True)["x"].sum(),
            "batches": self.batches,
            "modes": self.modes,
            "tape": self.tape,
            "hooks": self.hooks,
        }
        genesis.save({"x": genesis.zeros(20_000)}, self.path)
        for run in self.activities.values():
            run()

    def handler(self, *_: Any) -> None:
        if self.armed:  # one that comes late, when the case is over, is of no interest
            self.armed = False
            raise Interrupted

    def batches(self) -> None:
        data = genesis.data.TensorDataset(genesis.arange(40.0))
        for (x,) in genesis.data.DataLoader(data, batch_size=3, shuffle=True):
            x.sum()

    def modes(self) -> None:
        x = genesis.ones(3, requires_grad=True)
        for _ in range(50):
            with genesis.no_grad():
                x + 1
            with genesis.inference_mode(), genesis.enable_grad():
                x @ x

    def tape(self) -> None:
        x = genesis.ones(3)
        for _ in range(20):
            with genesis.Tape() as tape:
                y = (x * x).sum()
            tape.backward(y)

    def hooks(self) -> None:
        layer = nn.Linear(3, 3)
        layer.register_forward_hook(lambda module, args, out: out * 2)
        layer.weight.register_hook(lambda g: g + 1)
        for _ in range(20):
            layer(genesis.ones(2, 3)).sum().backward()

    def repeat(self, run: Callable[[], Any]) -> None:
        # Not in case(): Python 3.13 leaves the jump at the end of a loop out of `try` blocks.
        for _ in range(20):
            run()
            if not self.armed:
                return

    def case(self, rng: random.Random) -> Iterator[Finding]:
        name = rng.choice(list(self.activities))
        delay = 10 ** rng.uniform(-5.0, -2.0)
        code = f"{name}, interrupted after {delay:.6f} s"
        self.note(f"{name}(")
        gc.collect()
        before = genesis.memory.allocated()
        error: BaseException | None = None
        self.armed = True
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                self.repeat(self.activities[name])
            finally:
                self.armed = False
        except Interrupted:
            self.counts[0] += 1
        except BaseException as caught:
            error = caught
            error.__traceback__ = error.__context__ = error.__cause__ = None
        signal.setitimer(signal.ITIMER_REAL, 0)
        if error is not None:
            yield Finding("another exception", name, one_line(error), code)
        error = None
        gc.collect()
        left = genesis.memory.allocated() - before
        if left:
            yield Finding("leak", name, f"{left} bytes are still allocated", code)
        state = genesis.is_grad_enabled(), genesis.is_inference_mode_enabled()
        if state != (True, False):
            # From 3.14 on, `with` does not call __exit__ after an exception between __enter__ and its block.
            if sys.version_info < (3, 14):
                yield Finding("state", name, f"grad, inference: {state}", code)
            genesis.inference_mode(False).__enter__()
            genesis.set_grad_enabled(True)
        if _reference() != self.expected:
            yield Finding("another result", name, "the reference computation differs", code)
        x = genesis.load(self.path)["x"]
        if not ((x == 0).all() or (x == 1).all()):
            yield Finding("damaged", name, "the file is neither the old nor the new one", code)
        left_over = [
            entry for entry in os.listdir(self.folder.name) if entry != "state.safetensors"
        ]
        if left_over:
            yield Finding("left over", name, str(left_over), code)
            for entry in left_over:
                os.unlink(os.path.join(self.folder.name, entry))
