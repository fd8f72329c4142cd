"""The table of docs/internals/platforms.md: where Genesis was built and tested, with the results.

tools/pythons and tools/arm call it with --record; rows are not written by hand.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

PAGE = pathlib.Path(__file__).parent.parent / "docs" / "internals" / "platforms.md"
HEAD = "| platform | interpreter | compiler | NumPy | build | tests | passed | skipped | failed |"


@dataclasses.dataclass
class Row:
    platform: str
    interpreter: str
    compiler: str
    numpy: str
    build: str  # "ok" or "failed"
    tests: str  # which: "full", "short"
    passed: int
    skipped: int
    failed: int

    def key(self) -> tuple[str, tuple[int, ...], bool, str, str]:
        """What a row is about; a later run of the same replaces it."""
        numbers = re.findall(r"\d+", self.interpreter)[:2]
        numpy = ".".join(self.numpy.split(".")[:2])
        version = tuple(map(int, numbers))
        return self.platform, version, "free" in self.interpreter, self.compiler, numpy

    def text(self) -> str:
        return "| " + " | ".join(str(v) for v in dataclasses.astuple(self)) + " |"


def read(text: str) -> list[Row]:
    rows = []
    for line in text.partition(HEAD)[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        cells = [c.strip() for c in line.strip("|").split("|")]
        rows.append(Row(*cells[:6], *map(int, cells[6:])))  # type: ignore[arg-type]
    return rows


def record(new: list[Row]) -> None:
    text = PAGE.read_text()
    rows = {row.key(): row for row in read(text)} | {row.key(): row for row in new}
    before = text.partition(HEAD)[0]
    after = re.sub(r"\A(\|.*\n)*", "", text.partition(HEAD)[2].lstrip("\n").partition("\n")[2])
    rule = "|---|---|---|---|---|---|---:|---:|---:|"
    table = "\n".join([HEAD, rule, *(rows[key].text() for key in sorted(rows))])
    PAGE.write_text(f"{before}{table}\n{after}")


def counts(summary: str) -> tuple[int, int, int]:
    """Passed, skipped and failed of what pytest says in the end."""
    found = {
        name: int(n) for n, name in re.findall(r"(\d+) (passed|skipped|failed|error)", summary)
    }
    return (
        found.get("passed", 0),
        found.get("skipped", 0),
        found.get("failed", 0) + found.get("error", 0),
    )
