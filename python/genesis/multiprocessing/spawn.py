"""The same function in several processes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import pickle
import time
import traceback
from collections.abc import Callable
from typing import Any

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """A process failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function of a process raised; the message holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended with a signal or an exit code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), arguments


def _run(fn: Callable[..., Any], i: int, args: tuple[Any, ...], report: Any) -> None:
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        report.send_bytes(pickle.dumps(traceback.format_exc()))
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run; ``join`` waits for them."""

    def __init__(self, processes: list[Any], reports: list[Any]) -> None:
        self.processes = processes
        self._reports = reports
        self._left = dict(enumerate(processes))

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for some process to end; True when all have. If one failed, end all and raise."""
        if not self._left:
            return True
        sentinels = {process.sentinel: i for i, process in self._left.items()}
        ended = multiprocessing.connection.wait(list(sentinels), timeout=timeout)
        failed = None
        for sentinel in ended:
            i = sentinels[sentinel]
            process = self._left.pop(i)
            process.join()
            if process.exitcode != 0 and failed is None:
                failed = i
        if failed is not None:
            self._stop(grace_period)
            raise self._error(failed)
        return not self._left

    def _stop(self, grace_period: float | None) -> None:
        deadline = time.monotonic() + (grace_period or 30)
        for process in self._left.values():
            process.terminate()
        for process in self._left.values():
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
            process.join()

    def _error(self, i: int) -> ProcessException:
        process = self.processes[i]
        if self._reports[i].poll():
            text = pickle.loads(self._reports[i].recv_bytes())
            message = f"\n\n-- Process {i} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, i, process.pid)
        if process.exitcode < 0:
            import signal

            name = signal.Signals(-process.exitcode).name
            message = f"process {i} terminated with signal {name}"
            return ProcessExitedException(message, i, process.pid, process.exitcode, name)
        message = f"process {i} terminated with exit code {process.exitcode}"
        return ProcessExitedException(message, i, process.pid, process.exitcode)


SpawnContext = ProcessContext


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` processes; with ``join``, wait for all of them."""
    context = multiprocessing.get_context(start_method)
    processes, reports = [], []
    for i in range(nprocs):
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, send), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        send.close()
        processes.append(process)
        reports.append(receive)
    group = ProcessContext(processes, reports)
    if not join:
        return group
    while not group.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call ``fn(i, *args)`` in ``nprocs`` new processes."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
