"""Building blocks of models."""

from genesis.nn import functional, init, modules
from genesis.nn.modules import *  # noqa: F403
from genesis.nn.parameter import Buffer, Parameter

__all__ = [*modules.__all__, "Buffer", "Parameter", "functional", "init", "modules"]
