"""Checkpointing, under PyTorch's name: see :mod:`genesis.autograd`."""

from genesis.autograd._checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
)

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]
