"""PyTorch's name for `genesis.data`: the same classes and functions."""

from genesis import data
from genesis._missing import explain
from genesis.data import *  # noqa: F403

__all__ = data.__all__

explain(globals())
