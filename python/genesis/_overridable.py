"""Makes functions written in Python ones that ``__torch_function__`` can override."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from genesis import _C, _named_errors


def make_overridable(
    names: Iterable[str], *namespaces: dict[str, Any] | ModuleType, name_errors: bool = False
) -> None:
    """Replace the functions of these names, in each of the namespaces that has them.

    With ``name_errors``, their errors name them (see `_named_errors`).
    """
    explain = _named_errors.explain if name_errors else None
    tables = [vars(n) if isinstance(n, ModuleType) else n for n in namespaces]
    for name in names:
        found = [table for table in tables if isinstance(table.get(name), FunctionType)]
        if found:
            function = _C._overridable(found[0][name], explain)
            for table in found:
                table[name] = function
