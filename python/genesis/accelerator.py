"""The accelerator of this machine: none, computations are done by the CPU."""

from __future__ import annotations

from typing import Any, NoReturn

from genesis._C import device
from genesis._missing import explain

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "device_count",
    "empty_cache",
    "is_available",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is an accelerator: no."""
    return False


def device_count() -> int:
    """How many accelerators there are: none."""
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator: None."""
    return None


def _none(what: str) -> NoReturn:
    raise RuntimeError(
        f"accelerator.{what}: there is no accelerator; ask accelerator.is_available() first"
    )


def current_device_index() -> int:
    """Raises: there is no accelerator."""
    _none("current_device_index")


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Raises: there is no accelerator."""
    _none("set_device_index")


set_device_idx = set_device_index


def current_stream(device: Any = None) -> Any:
    """Raises: there is no accelerator."""
    _none("current_stream")


def synchronize(device: Any = None) -> None:
    """Nothing: no work is waiting."""


def empty_cache() -> None:
    """Nothing: no memory of a device is kept."""


explain(globals())
