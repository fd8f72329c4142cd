"""Apple's GPUs: not used by this build."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether it is used: no."""
    return False


def is_built() -> bool:
    """Whether this build could use it: no."""
    return False
