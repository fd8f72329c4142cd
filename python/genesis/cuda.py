"""CUDA devices: this build has none. Code that asks first gets an honest answer."""

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Whether tensors can live on a CUDA device: no."""
    return False


def device_count() -> int:
    """How many CUDA devices there are for us: none."""
    return 0
