"""Functions of ``torch.accelerator`` about memory."""

from __future__ import annotations

from typing import Any

__all__ = ["max_memory_allocated", "memory_allocated", "reset_peak_memory_stats"]


def memory_allocated(device_index: Any = None) -> int:
    """Bytes of memory of an accelerator: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device_index: Any = None) -> None:
    """Nothing: no memory of an accelerator is used."""


reset_accumulated_memory_stats = reset_peak_memory_stats
