"""How a training goes, for people: a table with a line for each epoch, and a bar on terminals."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from genesis._console import Console
from genesis.report._format import label, show, show_value

WIDTH = 80  # lines are no longer
_CELL = 9  # of a column: "1.235e-05", "98.76 %", "1,234,567"
_GAP = "  "


def console_for(log: Any, main: bool = True) -> Console:
    """The console for ``log``; ranks other than the first are silent."""
    if isinstance(log, Console):
        return log
    if log is None:
        log = sys.stdout.isatty()
    if not isinstance(log, (bool, str, os.PathLike)):
        raise TypeError(
            'fit: log must be True, False, None (True on a terminal), "json" or the path of a '
            f"file, got {log!r}"
        )
    if log is False or not main:
        return Console(quiet=True)
    if log is True:
        return Console()
    return Console(json=True, file=None if log == "json" else log)


class Progress:
    """A table with a line for each epoch, and while an epoch runs a bar where rich is installed.

    >>> with Progress(Console(), epochs=2, steps=10) as progress:
    ...     progress.step(epoch=0, step=1, measures=lambda: {"loss": 1.25})
    ...     progress.epoch(0, {"loss": 1.2, "val_accuracy": 0.5})
    epoch       loss  val accuracy
      1/2      1.200       50.00 %
    """

    def __init__(self, console: Console, epochs: int, steps: int | None) -> None:
        self.console = console
        self.epochs = epochs
        self.steps = steps
        self.every = -(-epochs // 20)  # a hundred epochs need not be a hundred lines
        self.width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
        self._columns: list[str] = []
        self._bar: Any = None
        self._last = 0.0
        if console.rich is not None:
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=16),
                TextColumn("{task.fields[text]}", markup=False),
                TimeRemainingColumn(),
                console=console.rich,
                transient=True,
            )
            total = None if steps is None else epochs * steps
            self._id = self._bar.add_task("", total=total, text="")

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, epoch: int, step: int, measures: Callable[[], Mapping[str, float]]) -> None:
        """After ``step`` steps of an epoch."""
        if self._bar is None or time.monotonic() - self._last <= 0.08:
            return
        self._last = time.monotonic()
        name = f"epoch {epoch + 1}/{self.epochs}"
        done = None if self.steps is None else epoch * self.steps + step
        room = self.width - len(name) - 16 - 7 - 3  # the bar, the time, and spaces between
        self._bar.update(self._id, completed=done, description=name, text=_fitted(measures(), room))

    def epoch(self, epoch: int, measures: Mapping[str, float]) -> None:
        """After an epoch."""
        if (epoch + 1) % self.every and epoch + 1 != self.epochs:
            return
        place = max(5, 2 * len(str(self.epochs)) + 1)
        if not self._columns:
            self._columns = self._fit(list(measures), place)
            titles = [label(n).rjust(_width(n)) for n in self._columns]
            self.console.line(_GAP.join(["epoch".rjust(place), *titles]), "bold")
        cells = [
            (show_value(n, measures[n]) if n in measures else "").rjust(_width(n))
            for n in self._columns
        ]
        where = f"{epoch + 1}/{self.epochs}".rjust(place)
        self.console.line(_GAP.join([where, *cells]))

    def _fit(self, names: list[str], place: int) -> list[str]:
        """The measures that fit the width, in their order; the last ones are left out first, but
        those of validation stay before those of training."""
        ranked = sorted(names, key=lambda n: (n != "loss", not n.startswith(("val_", "test_"))))
        chosen: set[str] = set()
        room = self.width - place
        for name in ranked:
            if len(_GAP) + _width(name) <= room:
                chosen.add(name)
                room -= len(_GAP) + _width(name)
        return [n for n in names if n in chosen]


def _width(name: str) -> int:
    return max(_CELL, len(label(name)))


def _fitted(measures: Mapping[str, float], room: int) -> str:
    """As many measures as fit into a number of columns."""
    text = ""
    for name, value in measures.items():
        longer = f"{text}{_GAP if text else ''}{show(name, value)}"
        if len(longer) > room:
            break
        text = longer
    return text
