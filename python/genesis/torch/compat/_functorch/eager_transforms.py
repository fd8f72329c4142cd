"""The private place of ``torch.func``."""

from genesis.func import *  # noqa: F403
