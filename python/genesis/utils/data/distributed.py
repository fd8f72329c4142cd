"""PyTorch's name for `genesis.data.distributed`."""

import sys

from genesis.data import distributed
from genesis.data.distributed import *  # noqa: F403

__all__ = distributed.__all__
sys.modules[__name__] = distributed  # the module itself, with its private names
