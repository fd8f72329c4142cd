"""Which module is running: names that observers (profiler, checks, debug) give to operations.

While an observer is active, a call of a module runs inside ``scope(module)``, which names it by its
path from the outermost module that is running in this thread, e.g. ``Net.encoder.0``.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from genesis import _C

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module


class _Running(threading.local):
    """The outermost module of this thread, and its name with those of the modules below it."""

    def __init__(self) -> None:
        self.root: Module | None = None


_running = _Running()
_paths: weakref.WeakKeyDictionary[Module, dict[int, str]] = weakref.WeakKeyDictionary()
_watchers = 0


def _path(module: Module) -> str:
    root = _running.root
    assert root is not None
    for names in (_paths.get(root), None):
        if names is None:  # not known yet, or changed since
            label = type(root).__name__
            names = {
                id(m): f"{label}.{path}" if path else label for path, m in root.named_modules()
            }
            _paths[root] = names
        if id(module) in names:
            return names[id(module)]
    return f"{_C._current_scope()}.{type(module).__name__}"  # no submodule of the outermost


@contextmanager
def scope(module: Module) -> Iterator[None]:
    """Runs with ``module`` as the innermost module of this thread."""
    outermost = _running.root is None
    if outermost:
        _running.root = module
    try:
        _C._begin_region(_path(module), True)
        try:
            yield
        finally:
            _C._end_region()
    finally:
        if outermost:
            _running.root = None


def watch(on: bool) -> None:
    """An observer begins, or ends: modules say their names as long as there is one."""
    global _watchers
    from genesis.nn.modules._hooks import everywhere

    _watchers += 1 if on else -1
    everywhere.scope = scope if _watchers else None
    everywhere.active = _watchers > 0 or everywhere.any()
    if not _watchers:
        _paths.clear()
