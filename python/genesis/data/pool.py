"""The workers of a loader, seen from the process that uses them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import selectors
import signal
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from genesis.data import transfer
from genesis.data.fetch import Recipe
from genesis.data.worker import Answer, Begin, Job, Task, run_process, run_thread

PATIENCE = 5.0  # seconds that a worker may take to finish its batch when it is no longer needed
IMPATIENCE = 0.2  # the same after Ctrl-C
PIPE = 128 * 1024  # bytes that may wait in a pipe; Linux's default has room for more
# Our ends of the pipes of all pools. A forked worker closes its copies: as long as one is open
# anywhere, the worker at the other end cannot see that we closed ours.
_open: weakref.WeakSet[Connection] = weakref.WeakSet()
Init = Callable[[int], None] | None


class ProcessPool:
    """Worker processes, each connected by its own pipe.

    No thread and no lock stands between: a worker that dies, at whatever moment, leaves nothing in
    a state that others wait for, and its end of the pipe closes.
    """

    def __init__(
        self, count: int, recipe: Recipe, init: Init, seed: int, context: Any, prefetch: int
    ) -> None:
        self.owner = os.getpid()
        self.limit = max(1024, PIPE // prefetch)
        self.pipes: list[Connection] = []
        self.processes: list[Any] = []
        self.selector = selectors.DefaultSelector()
        self.arrived: deque[Answer] = deque()
        self.stop = weakref.finalize(
            self, _stop_processes, self.owner, self.pipes, self.processes, self.selector
        )
        context = multiprocessing.get_context(context) if isinstance(context, str) else context
        context = context or multiprocessing.get_context()
        forks = context.get_start_method() == "fork"
        try:
            for i in range(count):
                self._start(
                    context, Job(i, count, recipe, init, seed + i, "process", self.limit), forks
                )
        except BaseException:
            self.stop()
            raise

    def _start(self, context: Any, job: Job, forks: bool) -> None:
        ours, theirs = context.Pipe(duplex=True)
        self.pipes.append(ours)
        _open.add(ours)
        inherited = list(_open) if forks else []
        process = context.Process(target=run_process, args=(job, theirs, inherited), daemon=True)
        process.name = f"DataLoader worker {job.id}"
        with warnings.catch_warnings():
            # Later Pythons warn of a fork while threads run. Ours are ready for it (core/parallel).
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            try:
                process.start()
            except (pickle.PicklingError, TypeError, AttributeError) as error:
                method = context.get_start_method()
                raise pickle.PicklingError(
                    f"DataLoader: the start method {method!r} cannot pickle the dataset, "
                    f"collate_fn or worker_init_fn: {error}. Define their classes and functions at "
                    "the top level of a module, or pass multiprocessing_context='fork'"
                ) from error
        theirs.close()
        self.processes.append(process)
        self.selector.register(ours, selectors.EVENT_READ, job.id)
        self.selector.register(process.sentinel, selectors.EVENT_READ, ~job.id)

    def send(self, worker: int, message: Begin | Task) -> None:
        # Reading first keeps room in the pipe for the worker's answers, so it never waits for us
        # while we wait for it.
        try:
            while self.pipes[worker].poll(0):
                if not self._read(worker):
                    return
            transfer.send(self.pipes[worker], message, self.limit)
        except (BrokenPipeError, ConnectionResetError):
            pass  # receive() finds out who died
        except BaseException:  # interrupted by Ctrl-C: discard the contents of the pipe
            self.stop()
            raise

    def _read(self, worker: int) -> bool:
        """Receive the next answer of a worker; False if it died before it was complete."""
        try:
            self.arrived.append(transfer.receive(self.pipes[worker]))
        except (EOFError, OSError):
            return False
        except BaseException as error:
            self.stop()
            if not isinstance(error, Exception):
                raise
            raise RuntimeError(
                f"DataLoader: the answer of worker {worker} cannot be unpickled in this process: "
                f"{type(error).__name__}: {error}"
            ) from error
        return True

    def receive(self, timeout: float | None) -> Answer | None:
        """The next answer of any worker, or None after ``timeout`` seconds."""
        while not self.arrived:
            try:
                events = self.selector.select(timeout)
            except KeyboardInterrupt:
                self.stop()
                raise
            if not events:
                return None
            ready = [key.data for key, _ in events]
            for worker in (w for w in ready if w >= 0):
                if not self._read(worker):
                    self._died(worker)
            if not self.arrived:
                for worker in (~w for w in ready if w < 0):
                    if not self.pipes[worker].poll(0):
                        self._died(worker)
        return self.arrived.popleft()

    def _died(self, worker: int) -> None:
        process = self.processes[worker]
        process.join(PATIENCE)
        code, pid = process.exitcode, process.pid
        self.stop()
        how = f"exited with code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = f"was killed by {signal.Signals(-code).name}"
            if -code == signal.SIGKILL:
                how += " (by hand, or by the system when memory ran out: use fewer workers)"
            if -code == signal.SIGSEGV:
                how += " (a crash in native code of the dataset; num_workers=0 shows where)"
        raise RuntimeError(
            f"DataLoader: worker {worker} (pid {pid}) {how} before it made its batch"
        )


def _stop_processes(
    owner: int, pipes: list[Connection], processes: list[Any], selector: selectors.BaseSelector
) -> None:
    """End all workers, gently at first. In a child that inherited the pool, nothing happens."""
    if os.getpid() != owner:
        return
    selector.close()
    for pipe in pipes:  # a worker finishes its batch, finds the pipe closed, and ends
        pipe.close()
    _join(processes, IMPATIENCE if _interrupted() else PATIENCE)
    for end in ("terminate", "kill"):
        for process in processes:
            if process.is_alive():
                getattr(process, end)()
        _join(processes, 1.0)
    for process in processes:
        with contextlib.suppress(ValueError):
            process.close()


def _interrupted() -> bool:
    """Whether Ctrl-C is what ends the loop, or the program."""
    return KeyboardInterrupt in (sys.exc_info()[0], getattr(sys, "last_type", None))


def _join(processes: list[Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))


class ThreadPool:
    """Worker threads, for datasets that wait for disks or networks, or compute in native code."""

    def __init__(self, count: int, recipe: Recipe, init: Init, seed: int) -> None:
        self.outbox: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.inboxes: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(count)]
        self.stop = weakref.finalize(self, _stop_threads, self.inboxes)
        for i in range(count):
            job = Job(i, count, recipe, init, seed + i, "thread", 0)
            threading.Thread(
                target=run_thread,
                args=(job, self.inboxes[i], self.outbox),
                name=f"DataLoader worker {i}",
                daemon=True,
            ).start()

    def send(self, worker: int, message: Begin | Task) -> None:
        self.inboxes[worker].put(message)

    def receive(self, timeout: float | None) -> Answer | None:
        try:
            return self.outbox.get(timeout=timeout)
        except queue.Empty:
            return None


def _stop_threads(inboxes: list[queue.SimpleQueue[Any]]) -> None:
    for inbox in inboxes:
        with contextlib.suppress(queue.Empty):
            while True:
                inbox.get_nowait()
        inbox.put(None)


Pool = ProcessPool | ThreadPool
