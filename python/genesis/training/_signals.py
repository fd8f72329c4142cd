"""Requests to stop a run: Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop by Ctrl-C or SIGTERM, after the step at hand.

    With ``checkpoint=`` the state is saved, and the same call resumes. It is a KeyboardInterrupt,
    so that ``except Exception`` does not catch it.

    >>> Interrupted(epoch=2, step=40, number=2).args
    ('epoch 3, step 40',)
    """

    def __init__(self, epoch: int, step: int, number: int = signal.SIGINT) -> None:
        super().__init__(f"epoch {epoch + 1}, step {step}")
        self.epoch = epoch
        self.step = step
        self.status = 128 + number


class Signals:
    """Notes Ctrl-C and SIGTERM while a block runs; a second signal raises KeyboardInterrupt.

    Python delivers signals to the main thread only, so that elsewhere it notes nothing.
    """

    def __init__(self, terminate: bool = True) -> None:
        self.number = 0
        self._numbers = [signal.SIGINT, signal.SIGTERM] if terminate else [signal.SIGINT]
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.number:
            raise KeyboardInterrupt
        self.number = number

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
