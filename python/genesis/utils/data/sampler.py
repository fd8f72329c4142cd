"""PyTorch's name for `genesis.data.sampler`."""

import sys

from genesis.data import sampler
from genesis.data.sampler import *  # noqa: F403

__all__ = sampler.__all__
sys.modules[__name__] = sampler  # the module itself, with its private names
