"""The operations that layers are made of, as functions; a file for each family."""

from genesis.nn.functional import (
    activation,
    affine,
    native,
    normalization,
)
from genesis.nn.functional.activation import *  # noqa: F403
from genesis.nn.functional.affine import *  # noqa: F403
from genesis.nn.functional.native import *  # noqa: F403
from genesis.nn.functional.normalization import *  # noqa: F403

__all__ = [
    *activation.__all__,
    *affine.__all__,
    *native.__all__,
    *normalization.__all__,
]
