"""Requests to stop a run: Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Training was interrupted by Ctrl-C or SIGTERM, after the current step.

    With ``checkpoint=`` the state is saved, and the same call resumes. It is a KeyboardInterrupt,
    so that ``except Exception`` does not catch it.

    ``epoch`` and ``step`` say where, and ``status`` is the exit status that shells expect.

    >>> print(Interrupted(epoch=2, step=40, saved="runs/a"))
    stopped at epoch 3, step 40; saved in runs/a, the same call resumes the run
    """

    __module__ = "genesis.training"

    def __init__(
        self, epoch: int, step: int, number: int = signal.SIGINT, saved: str | None = None
    ) -> None:
        self.where = f"epoch {epoch + 1}, step {step}"
        rest = "not saved" if saved is None else f"saved in {saved}, the same call resumes the run"
        super().__init__(f"stopped at {self.where}; {rest}")
        self.epoch = epoch
        self.step = step
        self.status = 128 + number


class Signals:
    """Notes Ctrl-C and SIGTERM while a block runs; a second signal raises KeyboardInterrupt.

    Python delivers signals to the main thread only, so that elsewhere it notes nothing. Launchers
    of several ranks pass a signal on more than once, so that a second one counts only after
    ``patience`` seconds.
    """

    def __init__(self, terminate: bool = True, patience: float = 0.0) -> None:
        self.number = 0
        self.patience = patience
        self._first = 0.0
        self._numbers = [signal.SIGINT, signal.SIGTERM] if terminate else [signal.SIGINT]
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.number:
            self.number, self._first = number, time.monotonic()
        elif time.monotonic() - self._first >= self.patience:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
