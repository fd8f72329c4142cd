"""Makes functions written in Python ones that ``__torch_function__`` can override."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from genesis import _C


def make_overridable(names: Iterable[str], *namespaces: dict[str, Any] | ModuleType) -> None:
    """Replace the functions of these names, in each of the namespaces that has them."""
    tables = [vars(n) if isinstance(n, ModuleType) else n for n in namespaces]
    for name in names:
        found = [table for table in tables if isinstance(table.get(name), FunctionType)]
        if found:
            function = _C._overridable(found[0][name])
            for table in found:
                table[name] = function
