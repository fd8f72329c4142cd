"""XNNPACK, a library that Genesis does not use."""

__all__ = ["enabled"]

enabled = False
