"""Which operators a checkpoint keeps."""

from __future__ import annotations

import enum

from genesis.torch.compat._absent import absent_function

__all__ = ["CheckpointPolicy", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """Whether the result of an operator is kept."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


create_selective_checkpoint_contexts = absent_function(
    "utils.checkpoint.create_selective_checkpoint_contexts",
    "a checkpoint computes everything again: checkpoint smaller parts",
)
