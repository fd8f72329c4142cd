"""The order of contractions in einsum is chosen by Genesis itself."""

from __future__ import annotations

from contextlib import AbstractContextManager

from genesis.backends._flags import changed

__all__ = ["flags", "get_opt_einsum", "is_available"]

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether the package opt_einsum is used: no."""
    return False


def get_opt_einsum() -> None:
    """The package opt_einsum: None, because it is not used."""


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """A block in which the flags have other values."""
    return changed(__name__, enabled=enabled, strategy=strategy)
