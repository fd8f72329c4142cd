"""NNPACK, a library that Genesis does not use."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["enabled", "is_available"]

enabled = False


def is_available() -> bool:
    """Whether it is used: no."""
    return False


def set_flags(_enabled: Any) -> tuple[bool]:
    """Nothing: it is not used. Returns the flag as it was."""
    return (False,)


def flags(enabled: bool = False) -> Any:
    """A block; it changes nothing."""
    return contextlib.nullcontext()
