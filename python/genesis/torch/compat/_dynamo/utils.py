"""Questions about the compiler."""

import contextlib
from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Whether functions can be compiled for this device: no."""
    return False


disable_cache_limit = contextlib.nullcontext
