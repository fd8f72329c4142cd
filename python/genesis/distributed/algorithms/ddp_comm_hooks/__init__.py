"""Communication hooks for DistributedDataParallel."""

from genesis.distributed.algorithms.ddp_comm_hooks import default_hooks

__all__ = ["default_hooks"]
