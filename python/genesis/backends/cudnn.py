"""cuDNN: not there. Its flags can be set, and change nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from genesis.backends._flags import changed

__all__ = ["is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is there: no."""
    return False


def version() -> int | None:
    """The version of cuDNN: None, because it is not available."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN could compute with this tensor: no."""
    return False


def flags(
    enabled: bool | None = None,
    benchmark: bool | None = None,
    benchmark_limit: int | None = None,
    deterministic: bool | None = None,
    allow_tf32: bool | None = None,
    fp32_precision: str | None = None,
) -> AbstractContextManager[None]:
    """A block in which the flags have other values."""
    return changed(
        __name__, enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit,
        deterministic=deterministic, allow_tf32=allow_tf32,
    )  # fmt: skip
