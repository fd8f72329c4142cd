"""OpenMP: not used by this build."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether it is used: no."""
    return False
