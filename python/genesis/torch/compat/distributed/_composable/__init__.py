"""Functions that change a module for distributed training."""

from genesis.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
