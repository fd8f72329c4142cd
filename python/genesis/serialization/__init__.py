"""Files: `save` and `load`, and the formats behind them.

Nothing in a file is ever executed. `safetensors.py` is the format of `save`, `structure.py` keeps
what lies around the tensors (dicts, lists, numbers), `torch_file.py` reads PyTorch's files through
the machine of `unpickle.py`, `torch_writer.py` writes them, `arrays.py` is for those of NumPy.
`atomic.py` replaces files in one step, `source.py` reads within bounds.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from genesis._missing import explain
from genesis.serialization.errors import FileFormatError
from genesis.serialization.files import load, save
from genesis.serialization.safetensors import load_file, read_metadata, save_file
from genesis.serialization.unpickle import ForeignObject

__all__ = [
    "FileFormatError",
    "ForeignObject",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "load_file",
    "read_metadata",
    "safe_globals",
    "save",
    "save_file",
]

# PyTorch's names. Files are never executed, so no class needs to be declared safe.
MAP_LOCATION = Any
FILE_LIKE = Any
DEFAULT_PROTOCOL = 2


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Remember classes as safe to load. Nothing in a file is executed, so all files are."""
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` was called with."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` was called with."""
    _safe.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A block in which some classes are remembered as safe to load."""
    before = list(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


_safe: list[Any] = []

explain(globals())
