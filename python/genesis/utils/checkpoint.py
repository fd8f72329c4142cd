"""Checkpointing, under PyTorch's name: see :mod:`genesis.autograd`."""

from typing import Any

from genesis._C import Tensor
from genesis._missing import explain
from genesis.autograd._checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    noop_context_fn,
)

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The non-CPU devices of the tensors and the states of their generators: always empty."""
    return [], []


def set_device_states(
    devices: list[int], states: list[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of non-CPU devices. ``devices`` must be empty."""
    if devices:
        raise RuntimeError(
            f"set_device_states: devices must be empty, as only the CPU is supported, got {devices}"
        )


explain(globals())
