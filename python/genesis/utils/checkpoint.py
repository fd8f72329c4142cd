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
    """The devices of these tensors besides the CPU, and the states of their generators: none."""
    return [], []


def set_device_states(
    devices: list[int], states: list[Tensor], *, device_type: str | None = None
) -> None:
    """Set the states of the generators of devices, of which there are none besides the CPU."""
    if devices:
        raise RuntimeError(f"set_device_states: there are no devices beside the CPU, got {devices}")


explain(globals())
