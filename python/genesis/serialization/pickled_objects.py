"""Namespaces, paths, dataclasses, enums and NumPy's arrays in the pickles of PyTorch's files.

Reading runs nothing of the file and nothing of a class: what may be named is listed here, and of a
program's own classes only dataclasses and enums of modules that it has loaded.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import types
from enum import Enum
from typing import Any, NoReturn

from genesis.serialization import objects
from genesis.serialization.errors import FileFormatError

# NumPy's codes of the dtypes that files hold, by safetensors' names.
NUMPY_CODES = {
    "BOOL": "b1", "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8", "I8": "i1", "I16": "i2",
    "I32": "i4", "I64": "i8", "F16": "f2", "F32": "f4", "F64": "f8",
}  # fmt: skip


def _wrong(text: str) -> NoReturn:
    raise FileFormatError(text)


def _namespace() -> Any:
    import argparse

    return argparse.Namespace()


def _path(*parts: Any) -> pathlib.Path:
    if not all(isinstance(part, str) for part in parts):
        _wrong("a path is made of something that is not text")
    return pathlib.Path(*parts)


def _slice(*bounds: Any) -> slice:
    if not all(b is None or type(b) is int for b in bounds):
        _wrong("the bounds of a slice are not numbers")
    return slice(*bounds)


# ---- NumPy ---------------------------------------------------------------------------------------


def _dtype(code: Any, align: Any = False, copy: Any = True) -> Any:
    import numpy as np

    if not isinstance(code, str) or code.lstrip("<|=") not in {*NUMPY_CODES.values(), "c8", "c16"}:
        _wrong(f"an array has a dtype that is none of numbers: {str(code)[:20]!r}")
    return np.dtype(code)


def _unfilled_array(kind: Any, shape: Any, code: Any) -> Any:
    import numpy as np

    return np.empty(0, np.uint8)


def _fill_array(array: Any, state: Any) -> None:
    import numpy as np

    if not isinstance(state, tuple) or len(state) != 5:
        _wrong("an array has no contents")
    _, shape, dtype, fortran, data = state
    whole = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not whole or not isinstance(dtype, np.dtype) or not isinstance(data, bytes):
        _wrong("an array has no shape, no dtype or no bytes")
    if math.prod(shape) * dtype.itemsize != len(data) or len(shape) > 32:
        _wrong(f"an array of shape {shape} has {len(data)} bytes")
    array.__setstate__((1, shape, dtype, bool(fortran), data))


def _scalar(dtype: Any, data: Any) -> Any:
    import numpy as np

    if not isinstance(dtype, np.dtype) or not isinstance(data, bytes):
        _wrong("a NumPy scalar has no dtype or no bytes")
    return np.frombuffer(data, dtype, 1)[0]


CALLS: dict[str, Any] = {
    "argparse.Namespace": _namespace,
    "types.SimpleNamespace": lambda: types.SimpleNamespace(),
    "builtins.slice": _slice,
    "__builtin__.slice": _slice,
    "numpy.dtype": _dtype,
    **{
        f"{module}.{name}": _path
        for module in ("pathlib", "pathlib._local")
        for name in ("Path", "PosixPath", "WindowsPath", "PurePath")
    },
    "pathlib.PurePosixPath": lambda *parts: pathlib.PurePosixPath(_path(*parts)),
    "pathlib.PureWindowsPath": lambda *parts: pathlib.PureWindowsPath(str(_path(*parts))),
    **{
        f"numpy.{module}.multiarray.{name}": function
        for module in ("core", "_core")
        for name, function in (("_reconstruct", _unfilled_array), ("scalar", _scalar))
    },
}
VALUES = {"numpy.ndarray": "ndarray"}


# ---- classes of the program ----------------------------------------------------------------------


def program_class(text: str) -> Any:
    """A dataclass or an enum that the program has loaded; None for any other name."""
    module, _, name = text.rpartition(".")
    found = objects.loaded_class(f"{module}:{name}")
    known = found is not None and (dataclasses.is_dataclass(found) or issubclass(found, Enum))
    return found if known else None


def make(cls: type[Any], args: tuple[Any, ...]) -> Any:
    """A member of an enum, or a dataclass whose fields follow."""
    if issubclass(cls, Enum):
        member = objects.member_of(cls, args[0]) if len(args) == 1 else None
        return member if member is not None else _wrong(f"{cls.__name__} has no such member")
    if args:
        _wrong(f"a {cls.__name__} is made with arguments")
    return object.__new__(cls)


def fill(target: Any, state: Any) -> bool:
    """Give an object that a name of this module made its contents; whether it is such an object."""
    kind = type(target)
    if f"{kind.__module__}.{kind.__name__}" in ("argparse.Namespace", "types.SimpleNamespace"):
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            _wrong("a namespace gets something else than names and values")
        vars(target).update(state)
        return True
    if dataclasses.is_dataclass(target):
        names = [field.name for field in dataclasses.fields(target)]
        if isinstance(state, tuple) and len(state) == 2:  # of a class with slots
            state = state[1]
        if isinstance(state, list) and len(state) == len(names):  # of a frozen one with slots
            state = dict(zip(names, state, strict=True))
        if not isinstance(state, dict) or set(state) != set(names):
            _wrong(f"the fields of a {type(target).__name__} in it are not those of the class")
        for key, value in state.items():
            object.__setattr__(target, key, value)
        return True
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        _fill_array(target, state)
        return True
    if kind.__module__.startswith("numpy") and "dtype" in kind.__name__.lower():
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", "|", "="):
            _wrong("an array has another order of bytes than this machine")
        return True
    return False
