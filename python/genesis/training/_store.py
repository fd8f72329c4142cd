"""Checkpoints of a trainer: one file for all ranks, written by rank 0."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from genesis.report import History
from genesis.utils import random_state
from genesis.utils.training import Checkpoint

if TYPE_CHECKING:
    from genesis.training._trainer import Trainer


class Store:
    """Where the state of a trainer is saved.

    A file has the parts that all ranks share, and for each rank where its loader stands, its
    measures so far and its random state.
    """

    def __init__(self, trainer: Trainer, path: str, keep: int | None) -> None:
        self.trainer = trainer
        self.job = trainer.job
        self.parts = _parts(trainer)
        self.checkpoint = Checkpoint(path, keep=keep, **self.parts)
        self._saved = time.monotonic()

    def age(self) -> float:
        """Seconds since the last save."""
        return time.monotonic() - self._saved

    def restore(self) -> bool:
        """Resume from the saved state, on all ranks; False if there is none."""
        found: Any = None
        if self.trainer.is_main and self.checkpoint.steps():
            if not self.trainer.resume:
                found = FileExistsError(
                    f"Trainer: {self.checkpoint.path} holds a run already; pass resume=True to go "
                    "on with it, or another checkpoint="
                )
            elif self.trainer.step == 0:
                found = self.checkpoint.restore()
        if self.job.size > 1:
            found = self._share(found)
        if isinstance(found, Exception):
            raise found
        if found is None:
            return False
        self._set(found)
        return True

    def _share(self, found: Any) -> Any:
        """Give what rank 0 has read to the other ranks, which may not see its files."""
        states = None
        if isinstance(found, dict):
            states = {name: part.state_dict() for name, part in self.parts.items()}
        found, states = self.job.from_first((found, states))
        if states is not None and not self.trainer.is_main:
            for name, part in self.parts.items():
                part.load_state_dict(states[name])
        return found

    def _set(self, found: dict[str, Any]) -> None:
        trainer = self.trainer
        trainer.step, trainer.stopped = found["step"], found["stopped"]
        trainer.history = History(found["losses"], found["epochs"])
        ranks = found["ranks"]
        if len(ranks) == self.job.size:
            trainer.seconds, trainer.batches = found["seconds"], found["batches"]
            mine = ranks[self.job.rank]
            trainer.measures.load_state_dict(mine["measures"])
            trainer.losses = mine["losses"]
            if mine["loader"] is not None:
                trainer.loader.load_state_dict(mine["loader"])
        elif found["batches"]:  # where the loaders stood means nothing for other shares
            trainer.console.line(
                f"saved on {len(ranks)} ranks, resumed on {self.job.size}: epoch "
                f"{trainer.epoch + 1} starts again with the saved weights"
            )
        random_state.restore(ranks[self.job.rank % len(ranks)]["random"])

    def save(self) -> None:
        """Write the state; every rank has to call it."""
        trainer = self.trainer
        has_state = hasattr(trainer.loader, "state_dict")
        ranks = self.job.gather(
            {
                "loader": trainer.loader.state_dict() if has_state else None,
                "measures": trainer.measures.state_dict(),
                "losses": trainer.losses,
                "random": random_state.capture(),
            }
        )
        if trainer.is_main:
            self.checkpoint.save(
                trainer.step,
                losses=trainer.history.losses,
                epochs=trainer.history.epochs,
                seconds=trainer.seconds,
                batches=trainer.batches,
                stopped=trainer.stopped,
                ranks=ranks,
            )
        self._saved = time.monotonic()


def _parts(trainer: Trainer) -> dict[str, Any]:
    """What is the same on all ranks and has a state."""
    parts = {
        "model": trainer.model,
        "optimizer": trainer.optimizer,
        "schedule": trainer.schedule,
        "scaler": trainer.scaler,
        "ema": trainer.ema,
    }
    for i, callback in enumerate(trainer.callbacks):
        if hasattr(callback, "state_dict") and hasattr(callback, "load_state_dict"):
            parts[f"callback_{i}"] = callback
    return {name: part for name, part in parts.items() if part is not None}
