"""The old place of ``torch.distributed.tensor``."""

from genesis.distributed.tensor import *  # noqa: F403
