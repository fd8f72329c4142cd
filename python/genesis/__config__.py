"""The configuration of this build."""

from __future__ import annotations

from genesis import _C
from genesis._version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A readable description of the build.

    >>> genesis.__config__.show().startswith("Genesis built with:")
    True
    """
    return f"Genesis built with:\n  - version {__version__}\n  - CPU capability {_C._isa()}\n"


def parallel_info() -> str:
    """How many threads an operation may use."""
    return f"ATen/Parallel:\n\tget_num_threads() : {_C.get_num_threads()}\n"
