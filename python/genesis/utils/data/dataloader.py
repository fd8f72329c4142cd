"""PyTorch's name for `genesis.data.dataloader`."""

import sys

from genesis.data import dataloader
from genesis.data.dataloader import *  # noqa: F403

__all__ = dataloader.__all__
sys.modules[__name__] = dataloader  # the module itself, with its private names
