"""Models that are trained on several ranks."""

from genesis.distributed._ddp import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
