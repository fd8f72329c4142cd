"""Ends the process when an operation takes longer than its timeout.

A blocked call of MPI cannot be interrupted, so a thread watches it. It says what this rank waits
for, leaves the other ranks a moment to say the same, and ends the process, on which mpiexec ends
all others.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from genesis.distributed._status import TIMED_OUT, Status

EXIT_CODE = 86
_INTERVAL = 0.25
_MOMENT = 1.0


class Watchdog(threading.Thread):
    def __init__(self, status: Status, rank: int, timeout: float) -> None:
        super().__init__(name="genesis-watchdog", daemon=True)
        self.status = status
        self.rank = rank
        self.timeout = timeout
        self.stopped = threading.Event()

    def run(self) -> None:
        operation, since = 0, time.monotonic()
        while not self.stopped.wait(min(_INTERVAL, self.timeout / 4)):
            present = self.status.waits_in()
            if present != operation or not present:
                operation, since = present, time.monotonic()
            elif time.monotonic() - since > (limit := self.status.limit or self.timeout):
                self._end(limit)

    def _end(self, limit: float) -> None:
        self.status.memory[0] = TIMED_OUT
        print(
            f"genesis.distributed: rank {self.rank}: timeout of {limit:g} s: "
            f"{self.status.text()}; a rank does not respond, ending the job",
            file=sys.stderr,
            flush=True,
        )
        time.sleep(_MOMENT)
        os._exit(EXIT_CODE)


def abort_on_exception(mpi: object) -> None:
    """An uncaught exception ends the job, also where ``python -m mpi4py`` is not used."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
        before(kind, error, trace)  # type: ignore[arg-type]
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(_MOMENT)  # mpiexec drops what it has not read when the job is aborted
        mpi.COMM_WORLD.Abort(1)  # type: ignore[attr-defined]

    sys.excepthook = hook
