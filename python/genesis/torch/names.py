"""PyTorch's public names, and how Genesis stands to each: the same, different, or absent.

``names.txt`` lists the names (written by ``tools/torch_names.py``), ``notes.py`` says what is
different and why something is absent. Whether a name exists is looked up in Genesis itself. The
coverage page, the list of absent parts in "Coming from PyTorch", the totals in the README and the
errors for missing names are all made from this module.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from genesis.torch.notes import ABSENT, DIFFERENT, Absent

__all__ = ["Entry", "answer", "known", "lookup", "table", "why_absent"]

_MISSING = object()


@dataclass(frozen=True)
class Entry:
    """One name of PyTorch."""

    owner: str  # the module or class: "torch.nn"
    name: str
    status: str  # "same", "different" or "absent"
    note: str  # how it differs, or why it is absent and what to use instead

    @property
    def full(self) -> str:
        return f"{self.owner}.{self.name}"


@functools.cache
def known() -> dict[str, tuple[str, ...]]:
    """PyTorch's names by the module or class that they are in."""
    found: dict[str, list[str]] = {}
    owner = ""
    text = (Path(__file__).parent / "names.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith(" "):
            found[owner] += line.split()
        elif not line.startswith("#"):
            owner = line
            found[owner] = []
    return {owner: tuple(names) for owner, names in found.items()}


def table() -> Iterator[Entry]:
    """Every name of PyTorch with its status in this version of Genesis."""
    for owner, names in known().items():
        for name in names:
            full = f"{owner}.{name}"
            if lookup(full) is not _MISSING:
                note = _difference(full)
                yield Entry(owner, name, "different" if note else "same", note)
            else:
                yield Entry(owner, name, "absent", answer(full) or "")


def lookup(full: str, default: Any = _MISSING) -> Any:
    """What Genesis has under a name of PyTorch ("torch.nn.Linear"); ``default`` if nothing."""
    found: Any = importlib.import_module("genesis")
    path = "genesis"
    for part in full.split(".")[1:]:
        path = f"{path}.{part}"
        owner, found = found, _member(found, part)
        if found is _MISSING and inspect.ismodule(owner):
            with contextlib.suppress(ImportError):
                found = importlib.import_module(path)
        if found is _MISSING:
            return default
    return found


def _member(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, _MISSING)
    except ImportError:  # it exists, but needs a package that is not installed
        return None
    except RuntimeError:  # a property that needs an instance
        return inspect.getattr_static(owner, name)


def exists(full: str) -> bool:
    """Whether Genesis has a name of PyTorch."""
    return lookup(full) is not _MISSING


def _difference(full: str) -> str:
    return next((how for patterns, how in DIFFERENT if _matches(full, patterns)), "")


def why_absent(full: str) -> Absent | None:
    """The rule that explains why Genesis lacks a name."""
    return next((rule for rule in ABSENT if _matches(full, rule.names)), None)


def answer(full: str) -> str | None:
    """An explanation for a name that is absent; None if PyTorch has no such name."""
    owner, _, name = full.rpartition(".")
    if name not in known().get(owner, ()) and not any(
        module == full or module.startswith(f"{full}.") for module in known()
    ):
        return None
    rule = why_absent(full)
    if rule is None:
        return f"{full}: Genesis does not have it yet"
    return f"{rule.why}; {rule.instead}"


def _matches(full: str, patterns: str) -> bool:
    """A pattern matches part by part; ``x.*`` is all below ``x``; a function is its method too."""
    parts = full.split(".")[1:]
    if parts[0] == "Tensor" and len(parts) == 2 and _matches(f"torch.{parts[1]}", patterns):
        return True
    for pattern in patterns.split():
        wanted = pattern.split(".")
        deep = len(wanted) > 1 and wanted[-1] == "*"
        here = parts[: len(wanted) - 1] if deep else parts
        wanted = wanted[:-1] if deep else wanted
        if len(here) == len(wanted) and all(map(fnmatchcase, here, wanted)):
            return True
    return False
