"""Names of ``torch.autograd`` that ``genesis.autograd`` does not have."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["kineto_available", "set_multithreading_enabled"]


class DeviceType(enum.Enum):
    """Kinds of devices of events."""

    CPU = 0
    CUDA = 1


def kineto_available() -> bool:
    """Whether PyTorch's own tracing library is there: no."""
    return False


class set_multithreading_enabled:
    """A block; backward runs in the thread that calls it anyway."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


def _profiler_enabled() -> bool:
    """Whether PyTorch's older profiler runs: no."""
    return False


def _disable_profiler() -> Any:
    """Nothing: PyTorch's older profiler does not run."""


def _is_checkpoint_valid() -> bool:
    """Whether a checkpoint may be made here: it may, everywhere."""
    return True
