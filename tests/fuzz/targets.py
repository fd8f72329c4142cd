"""The targets by name. A module is imported when its target is run: some need PyTorch."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from tests.fuzz.target import Target

_CLASSES = {
    "calls": "calls.Calls",
    "programs": "programs.Programs",
    "compiled": "compiled.Compiled",
    "modules": "modules.Modules",
    "files": "files.Files",
    "writers": "writers.Writers",
    "allocations": "faults.Allocations",
    "new": "native_faults.New",
    "signals": "signals.Signals",
    "forks": "forks.Forks",
    "life": "life.Life",
    "canary": "canary.Canary",
}

# Parts of the time of a run of all; how many cases the tests run, and `tools/soak --short`.
SHARES = {"calls": 25, "programs": 25, "compiled": 10, "modules": 12, "files": 8, "libfuzzer": 4, "writers": 3, "allocations": 5, "new": 5, "signals": 5, "forks": 3, "life": 5}  # fmt: skip
SHORT = {"calls": 4000, "programs": 800, "compiled": 400, "modules": 250, "files": 4000, "writers": 300, "allocations": 400, "new": 400, "signals": 150, "forks": 60, "life": 300}  # fmt: skip


class _Targets(Mapping[str, type[Target]]):
    def __getitem__(self, name: str) -> type[Target]:
        module, _, cls = _CLASSES[name].partition(".")
        found: type[Target] = getattr(importlib.import_module(f"tests.fuzz.{module}"), cls)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


TARGETS = _Targets()
