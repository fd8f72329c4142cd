"""The operations that layers are made of, as functions."""

from genesis._C import dropout

__all__ = ["dropout"]
