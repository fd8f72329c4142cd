"""The operations that layers are made of, as functions; a file for each family."""

from genesis.nn.functional import native
from genesis.nn.functional.native import *  # noqa: F403

__all__ = [*native.__all__]
