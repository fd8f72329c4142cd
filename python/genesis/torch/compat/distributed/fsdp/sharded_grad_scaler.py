"""The scaler of gradients of the first version of FSDP."""

from genesis.amp import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """`amp.GradScaler`: on a CPU there is nothing to gather."""
