"""A module that is trained in several processes."""

from genesis.distributed._ddp import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
