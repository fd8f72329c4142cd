"""What runs in a worker: it takes tasks, makes batches, and answers, errors included."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection as mp_connection
from multiprocessing.connection import Connection
from typing import Any

from genesis import _C
from genesis.data import transfer
from genesis.data.fetch import END, Fetcher, Recipe
from genesis.utils import random_state

__all__ = ["WorkerInfo", "get_worker_info"]

ORPHAN_CHECK = 1.0  # seconds between checks whether the parent process still exists


@dataclass
class WorkerInfo:
    """Which worker of a `DataLoader` this is: ``id`` of ``num_workers``, its seed and dataset.

    A stream takes its share with it:

    >>> class Lines(genesis.data.IterableDataset):
    ...     def __iter__(self):
    ...         info = get_worker_info()
    ...         start, step = (info.id, info.num_workers) if info else (0, 1)
    ...         return iter(range(start, 6, step))
    >>> sorted(genesis.data.DataLoader(Lines(), batch_size=None, num_workers=2))
    [0, 1, 2, 3, 4, 5]
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_of_process: WorkerInfo | None = None
_of_thread = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """Information about this worker of a `DataLoader`; None elsewhere.

    >>> get_worker_info() is None
    True
    """
    return getattr(_of_thread, "info", None) or _of_process


@dataclass
class Job:
    """The arguments of a worker."""

    id: int
    num_workers: int
    recipe: Recipe
    init: Callable[[int], None] | None
    seed: int
    kind: str
    limit: int


@dataclass
class Begin:
    """An epoch begins; tasks of the one before need no answer any more."""

    epoch: int
    seed: int


@dataclass
class Task:
    epoch: int
    number: int
    indices: Any


@dataclass
class Answer:
    """``kind`` is "batch", "end" (of an iterable dataset) or "error"."""

    epoch: int
    number: int
    worker: int
    kind: str
    value: Any = None


@dataclass
class Failure:
    """An exception on its way out of a worker: its class, and its traceback as text."""

    kind: type[BaseException]
    text: str
    cause: BaseException | None = None

    @classmethod
    def now(cls, where: str, keep: bool) -> Failure:
        kind, error, _ = sys.exc_info()
        assert kind is not None
        text = f"Caught {kind.__name__} in {where}.\nOriginal {traceback.format_exc()}"
        try:
            pickle.dumps(kind)
        except Exception:
            kind = RuntimeError  # a class that other processes cannot find
        return cls(kind, text, error if keep else None)

    def raise_again(self) -> None:
        kind: Callable[[Any], BaseException] = self.kind
        if issubclass(self.kind, StopIteration):  # it would end the loop without a word
            kind = RuntimeError
        text = _Verbatim(self.text) if issubclass(self.kind, KeyError) else self.text
        try:
            error = kind(text)
        except Exception:
            error = RuntimeError(text)
        try:
            raise error from self.cause
        finally:
            del error  # else this frame and the error keep each other, and with them the workers


class _Verbatim(str):
    """KeyError shows the repr of its text, which would put all lines into one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Server:
    """Answers the tasks of one worker."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.where = f"DataLoader worker {job.kind} {job.id}"
        self.fetcher: Fetcher | None = None
        self.failure: Failure | None = None
        # sys.exit() ends a process, which its parent sees; a thread would just be gone.
        self.caught = BaseException if job.kind == "thread" else Exception
        try:
            if job.init is not None:
                job.init(job.id)
        except self.caught:
            self.failure = self.now()

    def now(self) -> Failure:
        return Failure.now(self.where, keep=self.job.kind == "thread")

    def begin(self, message: Begin) -> None:
        job = self.job
        if self.failure is not None and self.fetcher is None:
            return  # worker_init_fn failed: every task is answered with that
        self.failure = None
        seeding = job.kind == "process"
        try:
            self.fetcher = Fetcher(job.recipe, message.seed, job.id, isolate=False, seeding=seeding)
        except self.caught:
            self.failure = self.now()

    def answer(self, task: Task) -> Answer:
        def reply(kind: str, value: Any = None) -> Answer:
            return Answer(task.epoch, task.number, self.job.id, kind, value)

        if self.failure is not None or self.fetcher is None:
            return reply("error", self.failure)
        try:
            batch = self.fetcher.fetch(task.number, task.indices)
        except self.caught:
            return reply("error", self.now())
        return reply("end") if batch is END else reply("batch", batch)


def run_process(job: Job, pipe: Connection, inherited: list[Connection]) -> None:
    """The main function of a worker process."""
    global _of_process
    for other in inherited:  # else the ends of other workers' pipes would stay open with this one
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    threading.Thread(target=_end_with_parent, name="DataLoader watch", daemon=True).start()
    _C.set_num_threads(1)
    random_state.seed(job.seed)
    _of_process = WorkerInfo(job.id, job.num_workers, job.seed, job.recipe.dataset)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _serve_pipe(Server(job), pipe)


def _end_with_parent() -> None:
    """End this process when its parent has ended, whatever the dataset is doing."""
    parent, starter = multiprocessing.parent_process(), os.getppid()
    assert parent is not None
    # Siblings may hold the other end of the sentinel; the process that started us may be a server.
    while not mp_connection.wait([parent.sentinel], ORPHAN_CHECK) and os.getppid() == starter:
        pass
    os._exit(1)


def _serve_pipe(server: Server, pipe: Connection) -> None:
    inbox: deque[Begin | Task] = deque()
    while True:
        while not inbox or pipe.poll(0):
            message = transfer.receive(pipe)
            if isinstance(message, Begin):
                inbox.clear()
            inbox.append(message)
        message = inbox.popleft()
        if isinstance(message, Begin):
            server.begin(message)
            continue
        answer = server.answer(message)
        try:
            transfer.send(pipe, answer, server.job.limit)
        except (BrokenPipeError, ConnectionResetError):
            raise  # the parent is gone, or no longer interested
        except Exception:  # the batch cannot be pickled
            answer = Answer(answer.epoch, answer.number, answer.worker, "error", server.now())
            transfer.send(pipe, answer, server.job.limit)


def run_thread(job: Job, inbox: queue.SimpleQueue[Any], outbox: queue.SimpleQueue[Any]) -> None:
    """The main function of a worker thread; None ends it."""
    _of_thread.info = WorkerInfo(job.id, job.num_workers, job.seed, job.recipe.dataset)
    server = Server(job)
    while (message := inbox.get()) is not None:
        if isinstance(message, Begin):
            server.begin(message)
        else:
            outbox.put(server.answer(message))
