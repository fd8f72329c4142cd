"""Apple's GPUs: this build computes on the CPU only."""

from __future__ import annotations

from typing import Any

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]


def is_available() -> bool:
    """Whether tensors can be on such a device: no."""
    return False


def is_initialized() -> bool:
    """Whether such a device is in use: no."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether work is being recorded: no."""
    return False


def device_count() -> int:
    """How many such devices there are: none."""
    return 0


def synchronize(device: Any = None) -> None:
    """Nothing: no work is waiting."""


def empty_cache() -> None:
    """Nothing: no memory of a device is kept."""


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device."""


manual_seed_all = manual_seed
