"""What a person sees: colours and a bar on a terminal that has rich, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any


def _rich_console() -> Any:
    """rich's console where it is installed and someone looks at it; else None."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False, markup=False)


class Console:
    """Lines and tables; with ``json``, nothing but what is passed to `data`.

    >>> console = Console()
    >>> console.line("all is well")
    all is well
    """

    def __init__(self, json: bool = False) -> None:
        self.json = json
        self.rich = None if json else _rich_console()

    def line(self, text: str = "", style: str = "") -> None:
        """A line of text. ``style`` is rich's, such as "bold green"."""
        if self.rich is not None:
            self.rich.print(text, style=style or None, soft_wrap=True)
        elif not self.json:
            print(text, flush=True)

    def data(self, value: Mapping[str, Any]) -> None:
        """An object on one line, for programs; nothing without ``json``."""
        if self.json:
            print(json.dumps(value), flush=True)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
        """Columns of which the first ``left`` are flush left.

        >>> Console().table(["op", "us"], [["add", "1.5"], ["matmul", "20.0"]])
        op        us
        add      1.5
        matmul  20.0
        """
        if self.rich is not None:
            from rich.box import SIMPLE_HEAD
            from rich.table import Table

            table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
            for i, title in enumerate(header):
                table.add_column(title, justify="left" if i < left else "right")
            for row in rows:
                table.add_row(*row)
            self.rich.print(table)
            return
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        for row in (header, *rows):
            cells = [
                c.ljust(w) if i < left else c.rjust(w)
                for i, (c, w) in enumerate(zip(row, widths, strict=True))
            ]
            self.line("  ".join(cells).rstrip())


class Progress:
    """Tells how a training goes: a bar that moves on a terminal, and a line for each epoch.

    >>> with Progress(Console(), epochs=2, steps=10) as progress:
    ...     progress.step(epoch=0, step=1, text="loss 1.25")
    ...     progress.epoch(0, "loss 1.20")
    epoch 1/2  loss 1.20
    """

    def __init__(self, console: Console, epochs: int, steps: int) -> None:
        self.console = console
        self.epochs = epochs
        self.every = -(-epochs // 20)  # a hundred epochs need not be a hundred lines
        self._bar: Any = None
        self._last = 0.0
        if console.rich is not None:
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[text]}"),
                TimeRemainingColumn(),
                console=console.rich,
                transient=True,
            )
            self._id = self._bar.add_task("", total=epochs * steps, text="")
        self.steps = steps

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, epoch: int, step: int, text: str) -> None:
        """After ``step`` steps of an epoch."""
        if self._bar is not None and time.monotonic() - self._last > 0.08:
            self._last = time.monotonic()
            name = f"epoch {epoch + 1}/{self.epochs}"
            self._bar.update(
                self._id, completed=epoch * self.steps + step, description=name, text=text
            )

    def epoch(self, epoch: int, text: str) -> None:
        """After an epoch."""
        if (epoch + 1) % self.every == 0 or epoch + 1 == self.epochs:
            width = len(str(self.epochs))
            self.console.line(f"epoch {epoch + 1:{width}}/{self.epochs}  {text}")
