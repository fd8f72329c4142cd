"""Runs a task to its end, through interruptions: checkpoints on the way, measures of all epochs."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from genesis.cli.console import Console, Progress
from genesis.cli.task import Task
from genesis.report import History
from genesis.report._format import show
from genesis.utils.training import Checkpoint


class Interrupted(Exception):
    """A run was asked to stop and has saved its state.

    >>> Interrupted(epoch=2, step=40, number=2).args
    ('epoch 3, step 40',)
    """

    def __init__(self, epoch: int, step: int, number: int) -> None:
        super().__init__(f"epoch {epoch + 1}, step {step}")
        self.status = 128 + number


class _Signals:
    """Ctrl-C and SIGTERM ask to stop after the current step; a second Ctrl-C stops at once."""

    def __init__(self) -> None:
        self.number = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            raise KeyboardInterrupt
        self.number = number

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


class Trainer:
    """Trains ``task``, with checkpoints in ``directory``.

    A run that was stopped or killed and is trained again with the same settings ends bitwise equal
    to one that was not. A checkpoint is written after ``save_every`` seconds, and at the end.
    """

    def __init__(
        self, task: Task, directory: Path, console: Console, save_every: float = 2.0
    ) -> None:
        self.task = task
        self.console = console
        self.save_every = save_every
        self.checkpoint = Checkpoint(directory / "checkpoints", keep=2, **task.parts())
        self.history = History()
        self._step = 0  # of the whole run
        self._sums: dict[str, float] = {}  # of the epoch so far, weighted by samples
        self._samples = 0
        self._seconds = 0.0
        self._saved = time.monotonic()

    def resume(self) -> bool:
        """Go back to the last checkpoint; False if there is none."""
        found = self.checkpoint.restore()
        if found is None:
            return False
        self._step = found["step"]
        self.history = History(found["losses"], found["epochs"])
        self._sums, self._samples, self._seconds = found["sums"], found["samples"], found["seconds"]
        return True

    @property
    def done(self) -> int:
        """How many epochs are complete."""
        return len(self.history.epochs)

    def run(self) -> History:
        """Train until all epochs are done; `Interrupted` when a signal asks to stop."""
        epochs, steps = self.task.settings.epochs, len(self.task.loader)
        with _Signals() as signals, Progress(self.console, epochs, steps) as progress:
            for epoch in range(self.done, epochs):
                self._epoch(epoch, signals, progress)
                if signals.number:
                    raise Interrupted(epoch, self._step, signals.number)
        return self.history

    def _epoch(self, epoch: int, signals: _Signals, progress: Progress) -> None:
        start = time.perf_counter() - self._seconds
        for batch in self.task.loader:
            measures = self.task.step(batch)
            n = self.task.samples(batch)
            self._step += 1
            self._samples += n
            for name, value in measures.items():
                self._sums[name] = self._sums.get(name, 0.0) + n * value
            self.history.losses.append(measures["loss"])
            self._seconds = time.perf_counter() - start
            progress.step(epoch, self._step - epoch * len(self.task.loader), self._text())
            if signals.number:
                self._save()
                raise Interrupted(epoch, self._step, signals.number)
            self._save_if_due()
        rate = self._samples / max(self._seconds, 1e-9)
        entry = {**self._means(), **self.task.evaluate()}
        progress.epoch(epoch, f"{self._show(entry)}  {rate:,.0f} samples/s")
        self.console.data(
            {"event": "epoch", "epoch": epoch + 1, **entry, "samples_per_second": rate}
        )
        entry.update(seconds=self._seconds, samples_per_second=rate)
        self.history.epochs.append(entry)
        self._sums, self._samples, self._seconds = {}, 0, 0.0
        if self.done == self.task.settings.epochs or signals.number:
            self._save()
        self._save_if_due()

    def _means(self) -> dict[str, float]:
        return {name: total / self._samples for name, total in self._sums.items()}

    def _show(self, measures: dict[str, float]) -> str:
        return "  ".join(show(name, value) for name, value in measures.items())

    def _text(self) -> str:
        rate = self._samples / max(self._seconds, 1e-9)
        return f"{self._show(self._means())}  {rate:,.0f} samples/s"

    def _save_if_due(self) -> None:
        if time.monotonic() - self._saved >= self.save_every:
            self._save()

    def _save(self) -> None:
        self.checkpoint.save(
            self._step,
            losses=self.history.losses,
            epochs=self.history.epochs,
            sums=self._sums,
            samples=self._samples,
            seconds=self._seconds,
        )
        self._saved = time.monotonic()
