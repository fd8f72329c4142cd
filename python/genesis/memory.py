"""How much memory tensors hold. Blocks that were freed are kept for the next tensor of their size.

>>> from genesis import memory
>>> memory.reset_peak()
>>> x = genesis.zeros(1000)
>>> memory.allocated() >= 4000
True
"""

from genesis import _C

__all__ = ["allocated", "cached", "empty_cache", "peak", "reset_peak"]


def allocated() -> int:
    """Bytes that tensors hold now."""
    return _C._memory_allocated()


def peak() -> int:
    """The largest value of ``allocated()`` since the start, or since ``reset_peak()``."""
    return _C._memory_peak()


def reset_peak() -> None:
    """Reset ``peak()`` to the memory allocated now."""
    _C._memory_reset_peak()


def cached() -> int:
    """Bytes that are free, but kept for tensors to come."""
    return _C._memory_cached()


def empty_cache() -> None:
    """Give free memory back to the system, as far as no tensor in use shares its pages."""
    _C._memory_empty_cache()
