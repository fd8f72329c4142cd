"""fork at any moment, while threads compute: the child computes too, and gets the same results."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Iterator

import genesis
from genesis import nn

from tests.fuzz.finding import Finding
from tests.fuzz.signals import _reference
from tests.fuzz.target import Target

LIMIT = 20.0  # seconds that a child may take


class Forks(Target):
    seconds = 60.0

    def __init__(self) -> None:
        warnings.simplefilter("ignore")  # Python's own, about forks of a process with threads
        genesis.set_num_threads(3)
        self.expected = _reference()
        self.stop = False
        for i in range(2):
            threading.Thread(target=self.busy, args=(i,), daemon=True).start()

    def busy(self, which: int) -> None:
        """Training in a thread, with large operations that run without the interpreter lock."""
        model = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 3))
        x = genesis.ones(300, 40)
        while not self.stop:
            if which == 0:
                model(x).sum().backward()
                model.zero_grad()
            else:
                genesis.ones(300, 300) @ genesis.ones(300, 300)
                x.sort(0)

    def case(self, rng: random.Random) -> Iterator[Finding]:
        time.sleep(rng.random() * 0.01)
        threads = rng.choice([1, 2, 3, 5])
        nested = rng.random() < 0.2
        code = f"a fork, a child with {threads} threads" + (", which forks too" if nested else "")
        self.note(f"{code}(")
        child = os.fork()
        if child == 0:
            self.in_child(threads, nested)
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            time.sleep(0.001)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            yield Finding("child hangs", "fork", f"more than {LIMIT} s", code)
            return
        if status != 0:
            how = {1: "an exception", 2: "another result"}.get(
                os.waitstatus_to_exitcode(status), f"status {status}"
            )
            yield Finding("child fails", "fork", how, code)

    def in_child(self, threads: int, nested: bool) -> None:
        code = 1
        try:
            genesis.set_num_threads(threads)
            code = 0 if _reference() == self.expected else 2
            if nested and (grandchild := os.fork()):
                code = code or os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])
            elif nested:
                code = 0 if _reference() == self.expected else 2
        finally:
            os._exit(code)
