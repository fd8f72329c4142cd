"""How a tensor is divided."""

from genesis.distributed.tensor import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class _StridedShard(Shard):
    """Parts that are divided twice; Genesis makes none."""
