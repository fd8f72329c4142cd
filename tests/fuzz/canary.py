"""A target with deliberate mistakes, to test that each is found."""

from __future__ import annotations

import ctypes
import os
import random
from collections.abc import Iterator

import numpy as np

from tests.fuzz.finding import Finding
from tests.fuzz.guard import Region
from tests.fuzz.target import Target


class Canary(Target):
    seconds = 1.0
    memory = 1 << 28
    cases = 12

    def case(self, rng: random.Random) -> Iterator[Finding]:
        number = self.number = getattr(self, "number", -1) + 1
        mistakes = [self.abort, self.hang, self.read_too_far, self.take_memory, self.wrong]
        if os.environ.get("CANARY"):
            number = int(os.environ["CANARY"])
        if number < len(mistakes):
            self.note(f"{mistakes[number].__name__}(")
            mistakes[number]()
        yield Finding("said", "canary", str(rng.random()))

    def abort(self) -> None:
        os.abort()

    def hang(self) -> None:
        while True:
            pass

    def read_too_far(self) -> None:
        array = Region().array(np.dtype(np.float32), 3, at_end=True)
        ctypes.string_at(array.ctypes.data, 13)

    def take_memory(self) -> None:
        np.ones(1 << 30)

    def wrong(self) -> None:
        raise KeyError("nobody expects this")
