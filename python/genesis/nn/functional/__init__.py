"""The operations that layers are made of, as functions; a file for each family."""

from genesis.nn.functional import native, normalization
from genesis.nn.functional.native import *  # noqa: F403
from genesis.nn.functional.normalization import *  # noqa: F403

__all__ = [*native.__all__, *normalization.__all__]
