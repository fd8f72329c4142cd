"""Imports that take place when a name is first used."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Recorded:
    """Stands for a module in a ``from`` import, and records the names that are read from it."""

    def __init__(self, module: str, homes: dict[str, str]) -> None:
        self._module, self._homes = module, homes

    def __getattr__(self, name: str) -> None:
        self._homes[name] = self._module


@contextmanager
def lazy_imports(namespace: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Records the imports of a block instead of executing them, as ``{name: module}``.

    The block consists of ``from module import name as name``. Type checkers read these imports as
    they are, and the ``__getattr__`` of a module executes them one by one, so that names are listed
    only once.
    """
    homes: dict[str, str] = {}
    execute = builtins.__import__

    def record(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if globals is not namespace:  # an import of another thread
            return execute(name, globals, locals, fromlist, level)
        return _Recorded(name, homes)

    builtins.__import__ = record
    try:
        yield homes
    finally:
        builtins.__import__ = execute
        for name in homes:
            namespace.pop(name, None)
