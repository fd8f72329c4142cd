"""Files: `save` and `load`, and the formats behind them.

Nothing in a file is executed, unless a program of PyTorch asks for it (`torch_pickle.py`).
`safetensors.py` is the format of `save`, `structure.py` keeps
what lies around the tensors (dicts, lists, numbers), `torch_file.py` reads PyTorch's files through
the machine of `unpickle.py`, `torch_writer.py` writes them, `arrays.py` is for those of NumPy.
`atomic.py` replaces files in one step, `source.py` reads within bounds.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from genesis._missing import explain
from genesis.serialization.errors import FileFormatError
from genesis.serialization.files import load, safe_classes, save
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

# PyTorch's names.
MAP_LOCATION = Any
FILE_LIKE = Any
DEFAULT_PROTOCOL = 2


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let ``load`` under the name of PyTorch make objects of these classes."""
    safe_classes.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` was called with."""
    return list(safe_classes)


def clear_safe_globals() -> None:
    """Forget what ``add_safe_globals`` was called with."""
    safe_classes.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """A block in which `load` under the name of PyTorch may make objects of these classes."""
    before = list(safe_classes)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        safe_classes[:] = before


explain(globals())
