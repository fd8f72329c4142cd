"""PyTorch's name for `genesis.data.dataset`."""

import sys

from genesis.data import dataset
from genesis.data.dataset import *  # noqa: F403

__all__ = dataset.__all__
sys.modules[__name__] = dataset  # the module itself, with its private names
