"""What a person sees: colours and a bar on a terminal that has rich, plain lines elsewhere."""

from __future__ import annotations

import json
import os
import sys
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
    """Lines and tables; with ``json``, nothing but what is passed to `data`; ``quiet``, nothing.

    ``file`` gets the JSON lines in place of the standard output.

    >>> console = Console()
    >>> console.line("all is well")
    all is well
    """

    def __init__(
        self, json: bool = False, *, quiet: bool = False, file: str | os.PathLike[str] | None = None
    ) -> None:
        self.json = json
        self.quiet = quiet
        self.file = file
        self.rich = None if json or quiet else _rich_console()

    def line(self, text: str = "", style: str = "") -> None:
        """A line of text. ``style`` is rich's, such as "bold green"."""
        if self.rich is not None:
            self.rich.print(text, style=style or None, soft_wrap=True)
        elif not self.json and not self.quiet:
            print(text, flush=True)

    def data(self, value: Mapping[str, Any]) -> None:
        """An object on one line, for programs; nothing without ``json``."""
        if not self.json:
            return
        if self.file is None:
            print(json.dumps(value), flush=True)
        else:
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(json.dumps(value) + "\n")

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
