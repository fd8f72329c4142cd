"""Names that a package requested and Genesis lacks: the error, and the report at exit."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType, TracebackType
from typing import Any

from genesis._missing import MissingName

__all__ = ["error", "note", "note_module", "start_report", "watch"]

REPORT_VARIABLE = "GENESIS_TORCH_REPORT"  # set for the processes that a script starts

_ADVICE = (
    "Genesis does not have it: guard the use with hasattr(), use another operation, or say what "
    "you need in an issue of Genesis; `genesis run-torch --report` lists everything that is missing"
)

# For each missing name: the places in the code that requested it.
_seen: dict[str, set[str]] = {}
_reporting = False


def error(module: str, name: str, known: Iterable[str]) -> MissingName:
    """The error for an attribute that is missing from ``torch.*``."""
    note(f"{module}.{name}")
    found = MissingName(module, name)
    found.known, found.advice = known, f"; {_ADVICE}"
    return found


def note(name: str) -> None:
    """Record, for the report, that ``name`` was requested, and by which line."""
    if _reporting:
        _seen.setdefault(name, set()).add(_caller())


def note_module(name: str) -> None:
    """Remember that the module ``name`` was to be imported."""
    note(name)


def _caller() -> str:
    """File and line of the request: the first frame outside the import system and this package."""
    frame = sys._getframe(1)
    here = os.path.dirname(__file__)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(("<frozen importlib", here)) and "importlib" not in file:
            return f"{file}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "unknown"


# By the name of a module of Genesis, those that it has below ``torch``.
_aliases: dict[str, list[str]] = {}


def watch(module: ModuleType, alias: str | None = None) -> None:
    """Have a module of Genesis explain a missing name, now that it is ``torch.*`` as well."""
    aliases = _aliases.setdefault(module.__name__, [])
    if alias is not None and alias not in aliases:
        aliases.append(alias)
    before: Callable[[str], Any] | None = vars(module).get("__getattr__")
    if getattr(before, "_explains", False):
        return
    shown = module.__name__.replace("genesis.torch.compat", "torch", 1)
    shown = shown.replace("genesis", "torch", 1)

    def __getattr__(name: str) -> Any:
        if before is not None:
            try:
                return before(name)
            except MissingName as missing:
                if missing.advice:  # from the table of PyTorch's names
                    note(f"{shown}.{name}")
                    raise
            except AttributeError:
                pass
        if not name.startswith("__") and hasattr(module, "__path__"):
            from genesis.torch import finder

            if finder.home(f"{shown}.{name}") is not None:  # a submodule that is not imported yet
                return importlib.import_module(f"{shown}.{name}")
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {shown!r} has no attribute {name!r}", name=name)
        for place in (shown, *aliases):
            found = elsewhere(place, name)
            if found is not None:
                return found
        raise error(shown, name, vars(module))

    __getattr__._explains = True  # type: ignore[attr-defined]
    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def elsewhere(shown: str, name: str) -> Any:
    """A name that ``torch.*`` has and the module of Genesis has not; None if there is none.

    ``genesis.torch.compat`` has names that only packages written for PyTorch ask for, in modules
    of the same path. PyTorch's files of layers are divided in another way than those of Genesis.
    """
    try:
        extra = importlib.import_module(f"genesis.torch.compat{shown.removeprefix('torch')}")
    except ModuleNotFoundError:
        extra = None
    if extra is not None and name in vars(extra):
        return vars(extra)[name]
    if shown.startswith("torch.nn.modules.") and not name.startswith("_"):
        from genesis import nn

        found = getattr(nn, name, None)
        return found if isinstance(found, type) else None
    return None


def start_report() -> None:
    """Print at exit what was missing. An uncaught exception is part of it."""
    global _reporting
    if _reporting:
        return
    _reporting = True
    os.environ[REPORT_VARIABLE] = "1"
    show = sys.excepthook

    def uncaught(
        kind: type[BaseException], value: BaseException, trace: TracebackType | None
    ) -> None:
        if isinstance(value, AttributeError) and not isinstance(value, MissingName):
            _note_attribute(value, trace)
        show(kind, value, trace)

    sys.excepthook = uncaught
    atexit.register(_print)


def _note_attribute(value: AttributeError, trace: TracebackType | None) -> None:
    """A method or attribute that a tensor or a class of Genesis does not have."""
    owner = value.obj if isinstance(value.obj, type) else type(value.obj)
    if value.name is None or not owner.__module__.startswith(("genesis", "torch")):
        return
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        _seen.setdefault(f"{owner.__qualname__}.{value.name}", set()).add(place)


def _print() -> None:
    if not _seen:
        print("genesis: nothing of torch that was asked for is missing", file=sys.stderr)
        return
    print(f"genesis: {len(_seen)} names of torch that were asked for are missing", file=sys.stderr)
    for name in sorted(_seen):
        print(f"  {name}", file=sys.stderr)
        for place in sorted(_seen[name]):
            print(f"      {place}", file=sys.stderr)
