"""The CPU."""

from genesis import _C

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that the kernels use, e.g. 'AVX2'."""
    return _C._isa().upper().replace("BASELINE", "DEFAULT")
