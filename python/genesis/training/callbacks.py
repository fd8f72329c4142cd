"""Callbacks: what happens between the steps and epochs of a training run.

A callback is an object with any of the methods of `Callback`; deriving from it is not needed. A
plain function is called after every epoch, as ``function(trainer, measures)``. Methods that are
there, ``state_dict`` and ``load_state_dict``, make the callback part of checkpoints. On several
ranks callbacks run on each; measures are the same on all, and ``trainer.is_main`` is true on one.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genesis.training._trainer import Trainer

__all__ = ["Callback", "EarlyStopping", "SaveBest", "TensorBoard"]

_HIGHER = ("accuracy", "auroc", "f1", "precision", "r2", "recall", "top_k")


class Callback:
    """The methods that a trainer calls, all of which do nothing here.

    ``measures`` are the values so far by name: "loss" after a step; all measures of training and
    validation ("val_...") after an epoch.

    >>> class Print(Callback):
    ...     def on_epoch_end(self, trainer, measures):
    ...         print(trainer.epoch, sorted(measures)[0])
    >>> x = genesis.randn(8, 2)
    >>> _ = genesis.fit(genesis.nn.Linear(2, 2), (x, x), genesis.nn.MSELoss(), callbacks=[Print()])
    1 loss
    """

    def on_fit_begin(self, trainer: Trainer) -> None:
        """Before the first epoch, or the first one after a resume."""

    def on_epoch_begin(self, trainer: Trainer) -> None:
        """Before an epoch; ``trainer.epoch`` epochs are complete."""

    def on_step_end(self, trainer: Trainer, measures: dict[str, float]) -> None:
        """After an update of the model, of which there were ``trainer.step``."""

    def on_epoch_end(self, trainer: Trainer, measures: dict[str, float]) -> None:
        """After an epoch and its validation. ``trainer.stop()`` makes it the last one."""

    def on_fit_end(self, trainer: Trainer) -> None:
        """After the last epoch; not after an interruption."""


_METHODS = [name for name in vars(Callback) if name.startswith("on_")]


class _AfterEpochs:
    """A function that is called after every epoch."""

    def __init__(self, function: Any) -> None:
        self.on_epoch_end = function


def as_callback(callback: Any) -> Any:
    """An object with methods of `Callback`, from one or from a function."""
    if any(hasattr(callback, name) for name in _METHODS):
        return callback
    if callable(callback) and not isinstance(callback, type):
        return _AfterEpochs(callback)
    raise TypeError(
        f"Trainer: not a callback: {callback!r}; pass a function(trainer, measures), or an object "
        f"with one of the methods {', '.join(_METHODS)}"
    )


def _better(name: str, mode: str | None) -> str:
    if mode not in (None, "min", "max"):
        raise ValueError(f'mode must be "min", "max" or None, got {mode!r}')
    if mode is not None:
        return mode
    return "max" if name.endswith(_HIGHER) else "min"


def _measure(owner: str, name: str, measures: dict[str, float]) -> float:
    if name not in measures:
        raise KeyError(
            f"{owner}: there is no measure {name!r}; there are {sorted(measures)} (measures of "
            "validation= begin with val_)"
        )
    return measures[name]


class EarlyStopping(Callback):
    """Stops when a measure has not become better for ``patience`` epochs.

    ``monitor`` is the name of the measure. ``mode`` says whether lower or higher is better; by
    default higher for accuracy and the like, else lower. A change of at most ``min_delta`` does not
    count. ``restore_best`` puts the weights of the best epoch back at the end.

    >>> genesis.training.EarlyStopping("val_accuracy", patience=3).mode
    'max'
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 5,
        *,
        min_delta: float = 0.0,
        mode: str | None = None,
        restore_best: bool = False,
    ) -> None:
        if type(patience) is not int or patience < 0:
            raise ValueError(f"EarlyStopping: patience must be an int from 0, got {patience!r}")
        self.monitor = monitor
        self.patience = patience
        self.min_delta = abs(min_delta)
        self.mode = _better(monitor, mode)
        self.restore_best = restore_best
        self.best = math.inf if self.mode == "min" else -math.inf
        self.waited = 0
        self._weights: dict[str, Any] | None = None

    def on_epoch_end(self, trainer: Trainer, measures: dict[str, float]) -> None:
        value = _measure("EarlyStopping", self.monitor, measures)
        gain = self.best - value if self.mode == "min" else value - self.best
        if gain > self.min_delta:
            self.best, self.waited = value, 0
            if self.restore_best:
                state = trainer.evaluated.state_dict()
                self._weights = {name: x.detach().clone() for name, x in state.items()}
            return
        self.waited += 1
        if self.waited >= max(self.patience, 1):
            trainer.stop()

    def on_fit_end(self, trainer: Trainer) -> None:
        if self._weights is not None:
            trainer.model.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best, self.waited = state["best"], state["waited"]
        self._weights = state["weights"]


class SaveBest(Callback):
    """Writes the weights to ``path`` whenever a measure is better than ever before.

    >>> genesis.training.SaveBest("best.safetensors", "val_loss").mode
    'min'
    """

    def __init__(
        self, path: str | os.PathLike[str], monitor: str = "val_loss", mode: str | None = None
    ) -> None:
        self.path = path
        self.monitor = monitor
        self.mode = _better(monitor, mode)
        self.best = math.inf if self.mode == "min" else -math.inf

    def on_epoch_end(self, trainer: Trainer, measures: dict[str, float]) -> None:
        value = _measure("SaveBest", self.monitor, measures)
        if value < self.best if self.mode == "min" else value > self.best:
            self.best = value
            if trainer.is_main:
                from genesis.serialization import save

                save(trainer.evaluated.state_dict(), self.path)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.best = state["best"]


class TensorBoard(Callback):
    """Writes measures for TensorBoard: the loss and the learning rate of steps, all of epochs.

    ``log_dir`` is a folder, or a `genesis.utils.tensorboard.SummaryWriter`. Steps are written every
    ``every`` steps.
    """

    def __init__(self, log_dir: Any, every: int = 10) -> None:
        self._where = log_dir
        self._writer: Any = log_dir if hasattr(log_dir, "add_scalar") else None
        self.every = every

    def on_fit_begin(self, trainer: Trainer) -> None:
        if self._writer is None and trainer.is_main:
            from genesis.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(self._where)

    def on_step_end(self, trainer: Trainer, measures: dict[str, float]) -> None:
        if trainer.is_main and trainer.step % self.every == 0:
            for name, value in measures.items():
                self._writer.add_scalar(f"step/{name}", value, trainer.step)
            rate = float(trainer.optimizer.param_groups[0]["lr"])
            self._writer.add_scalar("step/learning_rate", rate, trainer.step)

    def on_epoch_end(self, trainer: Trainer, measures: dict[str, float]) -> None:
        if trainer.is_main:
            for name, value in measures.items():
                self._writer.add_scalar(f"epoch/{name}", value, trainer.epoch)
            self._writer.flush()
