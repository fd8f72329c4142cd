"""Counts the floating-point operations of a block of code."""

from __future__ import annotations

from typing import Any

from genesis._missing import explain
from genesis.profiler import profile

__all__ = ["FlopCounterMode"]


class FlopCounterMode:
    """A context manager that counts floating-point operations.

    Counts are by operation, not by module, so ``mods`` and ``depth`` have no effect. A
    ``custom_mapping`` raises an error.

    >>> from genesis.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = genesis.ones(2, 3) @ genesis.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None
    ) -> None:
        if custom_mapping:
            raise ValueError(
                "FlopCounterMode: custom_mapping is not supported; omit it, and add the operations "
                "of custom functions to get_total_flops()"
            )
        self.display = display
        self._counts: dict[str, int] = {}

    def __enter__(self) -> FlopCounterMode:
        self._profile = profile(record_shapes=True, with_flops=True)
        self._profile.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._profile.__exit__(*exception)
        self._counts = {}
        for event in self._profile.events():
            flops = int(getattr(event, "flops", 0) or 0)
            if flops:
                self._counts[event.name] = self._counts.get(event.name, 0) + flops
        if self.display:
            print(self.get_table())

    def get_total_flops(self) -> int:
        """The number of floating-point operations in the block."""
        return sum(self._counts.values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The count of each operation, as ``{"Global": {name: count}}``."""
        return {"Global": dict(self._counts)}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table in text form."""
        rows = sorted(self._counts.items(), key=lambda row: -row[1])
        lines = [f"{name:32} {count:>20,}" for name, count in rows]
        return "\n".join([*lines, f"{'total':32} {self.get_total_flops():>20,}"])


explain(globals())
