"""Namespaces, dataclasses, enums and paths: how files store them, and how they are restored.

A file names a class; it never brings one along, and nothing of the class runs when it is read. A
dataclass or an enum comes back as itself if the program has loaded its module. If it has not, a
dataclass comes back as a `types.SimpleNamespace` of its fields, and an enum as its value.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import types
from collections.abc import Callable
from enum import Enum, Flag
from typing import Any

Code = Callable[[Any], Any]  # of a value inside, by the encoder or decoder

KINDS = frozenset({"Namespace", "SimpleNamespace", "dataclass", "enum", "path"})
_PATHS = {
    "Path": pathlib.Path,
    "PurePosixPath": pathlib.PurePosixPath,
    "PureWindowsPath": pathlib.PureWindowsPath,
}


def _name_of(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _is_namespace(x: Any) -> bool:
    argparse = sys.modules.get("argparse")
    return type(x) is types.SimpleNamespace or (
        argparse is not None and type(x) is argparse.Namespace
    )


def fields_of(x: Any) -> dict[str, Any] | None:
    """The values inside, by name; None if ``x`` is none of the objects with such."""
    if _is_namespace(x):
        return dict(vars(x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return {field.name: getattr(x, field.name) for field in dataclasses.fields(x)}
    return None


def head_of(x: Any) -> tuple[str, str]:
    """The kind, and for a dataclass the name of its class, of an object for `fields_of`."""
    if _is_namespace(x):
        return type(x).__name__, ""
    return "dataclass", _name_of(type(x))


def encode_simple(x: Any, encode: Code) -> Any:
    """An enum or a path as a node of the tree; None for anything else."""
    if isinstance(x, Enum):
        return {"enum": [_name_of(type(x)), encode(x.value)]}
    if isinstance(x, pathlib.PurePath):
        kind = "Path" if isinstance(x, pathlib.Path) else type(x).__name__
        return {"path": [kind if kind in _PATHS else "PurePosixPath", str(x)]}
    return None


def loaded_class(name: Any) -> Any:
    """A class of a module that the program has loaded; nothing is imported."""
    module, _, path = str(name).partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if isinstance(found, (type, types.ModuleType)) else None
    return found if isinstance(found, type) else None


def _dataclass(name: Any, values: dict[str, Any]) -> Any:
    cls = loaded_class(name)
    if cls is None or not dataclasses.is_dataclass(cls):
        return types.SimpleNamespace(**values)
    if {field.name for field in dataclasses.fields(cls)} != set(values):
        return types.SimpleNamespace(**values)
    made: Any = object.__new__(cls)  # type: ignore[arg-type]  # neither __init__ nor __post_init__: the fields are as they were
    for key, value in values.items():
        object.__setattr__(made, key, value)
    return made


def _enum(name: Any, value: Any) -> Any:
    cls = loaded_class(name)
    if cls is None or not issubclass(cls, Enum):
        return value
    found = member_of(cls, value)
    return value if found is None else found


def member_of(cls: type[Enum], value: Any) -> Any:
    """The member of an enum with this value, looked up without a call of the class; or None."""
    for member in cls.__members__.values():
        if type(member.value) is type(value) and member.value == value:
            return member
    if issubclass(cls, Flag) and type(value) is int:  # several members at once
        parts = [member for member in cls if member.value & value == member.value]
        if parts and sum({member.value for member in parts}) == value:
            whole = parts[0]
            for member in parts[1:]:
                whole = whole | member
            return whole
    return None


def decode(kind: str, value: Any, inner: Code) -> Any:
    """The object of a node; a wrong type in it raises TypeError, ValueError or KeyError."""
    if kind == "path":
        name, text = value
        return _PATHS[name](str(text))
    if kind == "enum":
        name, found = value
        return _enum(name, inner(found))
    if kind == "dataclass":
        name, given = value
        return _dataclass(name, {str(key): inner(x) for key, x in given.items()})
    values = {str(key): inner(x) for key, x in value.items()}
    if kind == "SimpleNamespace":
        return types.SimpleNamespace(**values)
    import argparse

    return argparse.Namespace(**values)
