"""Processes: Python's ``multiprocessing``, which tensors can be sent through."""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from typing import Any

from genesis.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    spawn,
    start_processes,
)

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """How tensors reach another process: as files in memory."""
    return {"file_system", "file_descriptor"}


_strategy = "file_system"


def get_sharing_strategy() -> str:
    """The chosen way; tensors are sent by value with either."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose a way; tensors are sent by value with either."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(
            f"set_sharing_strategy: expected one of {sorted(get_all_sharing_strategies())}, got "
            f"{new_strategy!r}"
        )
    _strategy = new_strategy


def __getattr__(name: str) -> Any:
    return getattr(_python, name)
