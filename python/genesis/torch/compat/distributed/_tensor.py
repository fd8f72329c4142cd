"""The old place of ``torch.distributed.tensor``."""

from genesis.torch.compat.distributed.tensor import *  # noqa: F403
