"""What a target is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import ClassVar

from tests.fuzz.finding import Finding

COUNTS = 4


class Target:
    """Something to be tried at random, made anew in every worker process."""

    seconds: ClassVar[float] = 20.0  # a case that takes longer is a hang
    memory: ClassVar[int] = (
        4 << 30
    )  # bytes of address space that cases may add to what imports need
    cases: ClassVar[int] = 2**62  # there are no more than these
    count_names: ClassVar[tuple[str, ...]] = ()  # what `counts` counts, up to COUNTS of them
    counts: list[int]
    note: Callable[[str], None]  # says what is about to be done, for the report of a crash

    @staticmethod
    def environment() -> dict[str, str]:
        """What the worker's environment has beside the usual."""
        return {}

    def case(self, rng: random.Random) -> Iterable[Finding]:
        raise NotImplementedError
