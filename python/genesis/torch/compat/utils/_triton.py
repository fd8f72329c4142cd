"""Triton, the compiler of kernels for GPUs: not there."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """Whether kernels can be compiled: no."""
    return False


has_triton_package = has_triton_tma = has_triton
