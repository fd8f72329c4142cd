"""The types of the named tuples that functions return: ``return_types.max`` is that of
``genesis.max(x, dim=0)``.

>>> isinstance(genesis.ones(2, 3).max(dim=0), genesis.return_types.max)
True
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._missing import MissingName

__all__ = sorted(
    op["name"]
    for op in _C.op_info()
    if op["function"] and op["name"][0] != "_" and " " in op["returns"].partition("(")[2]
)


def __getattr__(name: str) -> Any:
    found = _C._return_type(name) if name in __all__ else None
    if found is None:
        raise MissingName(__name__, name)
    globals()[name] = found
    return found
