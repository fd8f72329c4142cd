"""Checkpoints that several ranks write together and any number of ranks can read."""

from genesis.distributed.checkpoint._files import Piece, load, read, save
from genesis.distributed.checkpoint._runs import Checkpoint

__all__ = ["Checkpoint", "Piece", "load", "read", "save"]
