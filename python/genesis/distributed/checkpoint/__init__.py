"""Checkpoints that several ranks write together and any number of ranks can read."""

from typing import TYPE_CHECKING, Any

from genesis._missing import MissingName
from genesis.distributed.checkpoint._files import Piece, load, read, save

if TYPE_CHECKING:
    from genesis.distributed.checkpoint._runs import Checkpoint

__all__ = ["Checkpoint", "Piece", "load", "read", "save"]


def __getattr__(name: str) -> Any:
    if name == "Checkpoint":  # needs models and optimizers, which use this package themselves
        from genesis.distributed.checkpoint._runs import Checkpoint

        return Checkpoint
    raise MissingName(__name__, name)
