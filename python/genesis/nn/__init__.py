"""Building blocks of models."""

from genesis.nn import functional, modules
from genesis.nn.modules import *  # noqa: F403
from genesis.nn.parameter import Parameter

__all__ = [*modules.__all__, "Parameter", "functional"]
