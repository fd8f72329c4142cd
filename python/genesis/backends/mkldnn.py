"""oneDNN: not used by this build. Its flags can be set, and change nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager

from genesis.backends._flags import changed

__all__ = ["flags", "is_available"]

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False


def flags(
    enabled: bool | None = None, deterministic: bool | None = None, allow_tf32: bool | None = None
) -> AbstractContextManager[None]:
    """A block in which the flags have other values."""
    return changed(__name__, enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
