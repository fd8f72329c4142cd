"""The CPU as a device like others. The module can be called: ``genesis.cpu()`` names it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from genesis import _C
from genesis._missing import explain
from genesis.cpu import amp as amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether there is a CPU: yes."""
    return True


def device_count() -> int:
    """How many CPUs tensors can be on: one."""
    return 1


def current_device() -> str:
    """The name of the device: 'cpu'."""
    return "cpu"


def set_device(device: Any) -> None:
    """Nothing: there is one CPU."""


def synchronize(device: Any = None) -> None:
    """Does nothing: work is done synchronously."""


class _CallableModule(ModuleType):
    def __call__(self) -> _C.device:
        return _C.device("cpu")


sys.modules[__name__].__class__ = _CallableModule

explain(globals())
