"""Modules beside names: ``from genesis.device import Device``, though that name is a class.

An import statement sets the module as an attribute of the package, and would so hide the class.
The package refuses that one assignment.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _RefusingOnce(ModuleType):
    before: type[ModuleType] = ModuleType

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "__class__", _RefusingOnce.before)
        if not (isinstance(value, ModuleType) and value.__name__ == f"genesis.{name}"):
            setattr(self, name, value)


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.rpartition(".")[2]
        contents = import_module(f"genesis._{name}_names")
        module.__doc__ = contents.__doc__
        module.__dict__.update({key: getattr(contents, key) for key in contents.__all__})
        module.__dict__["__all__"] = contents.__all__
        package = sys.modules["genesis"]
        if type(package) is not _RefusingOnce:
            _RefusingOnce.before = type(package)
        package.__class__ = _RefusingOnce


def spec(name: str) -> ModuleSpec:
    """How ``genesis.device`` and ``genesis.tensor`` are made."""
    return ModuleSpec(name, _Loader())  # type: ignore[arg-type]
