"""Pinned memory, which only GPUs need."""

from typing import Any

__all__ = ["pin_memory"]


def pin_memory(data: Any, device: Any = None) -> Any:
    """The data itself."""
    return data
