"""Building blocks of models."""

from genesis.nn import functional
from genesis.nn.parameter import Parameter

__all__ = ["Parameter", "functional"]
