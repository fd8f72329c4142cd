"""Operations under way: handles, and the order in which they advance.

An operation is a generator that yields the MPI requests it waits for. MPI wants collective
operations on a communicator to start in the same order on every rank, whatever the timing. So the
first phase of an operation starts at the call, on one communicator, and the later phases use
another one and start only when all operations called before have completed.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator
from datetime import timedelta
from typing import Any

from genesis.distributed import _call
from genesis.distributed._status import LimitedStatus, Status

Steps = Generator[Any, None, None]  # yields a list of requests


class Queue:
    """The operations of a group that have not completed, in the order of their calls."""

    def __init__(self, status: Status | LimitedStatus, mpi: Any) -> None:
        self.works: deque[Work] = deque()
        self.status = status
        self.mpi = mpi  # the module mpi4py.MPI, None in a group of one

    def add(self, work: Work) -> None:
        self.works.append(work)
        work._resume()
        self._retire()

    def poll(self) -> None:
        """Advance what can be advanced without waiting."""
        while self.works and self.works[0]._try():
            self._retire()

    def _retire(self) -> None:
        while self.works and self.works[0].done:
            self.works.popleft()

    def wait_for(self, work: Work) -> None:
        self.status.begin(work.record)
        try:
            while not work.done:
                self.works[0]._block()
                self._retire()
        finally:
            self.status.end()


class Work:
    """What a call with ``async_op=True`` returns; ``wait()`` completes it.

    Until then the tensors must neither be read nor changed.
    """

    def __init__(
        self, queue: Queue, record: bytes, steps: Steps, result: Callable[[], Any] | None = None
    ) -> None:
        self._queue = queue
        self.record = record
        self.done = False
        self._steps = steps
        self._requests: list[Any] = []
        self._error: BaseException | None = None
        self._result = result
        queue.add(self)

    def _resume(self) -> None:
        """Run to the next requests, or to the end."""
        try:
            self._requests = next(self._steps)
        except StopIteration:
            self.done = True
        except BaseException as error:
            self.done = True
            self._error = error

    def _block(self) -> None:
        try:
            self._queue.mpi.Request.Waitall(self._requests)
        except BaseException as error:
            self._fail(error)
            return
        self._resume()

    def _try(self) -> bool:
        """Whether the operation advanced."""
        if self.done:
            return True
        try:
            if not self._queue.mpi.Request.Testall(self._requests):
                return False
        except BaseException as error:
            self._fail(error)
            return True
        self._resume()
        return True

    def _fail(self, error: BaseException) -> None:
        """An error of MPI itself. An operation that knows why it failed says so instead."""
        self.done = True
        self._error = error
        try:
            self._steps.throw(error)
        except StopIteration:
            pass
        except BaseException as better:
            self._error = better

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """Wait until the operation has completed; raises what went wrong."""
        if timeout is not None and not self.done:
            self._wait_until(timeout)
        if not self.done:
            self._queue.wait_for(self)
        if self._error is not None:
            raise self._error
        return True

    def _wait_until(self, timeout: timedelta | float) -> None:
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        end = time.monotonic() + seconds
        while not self.is_completed():
            if time.monotonic() > end:
                raise TimeoutError(
                    f"wait: {_call.describe(self.record)} has not completed within {seconds} s; it "
                    "is still under way: wait again, or end the job"
                )
            time.sleep(0.0002)

    def is_completed(self) -> bool:
        """Whether the operation has completed; advances it if possible."""
        if not self.done:
            self._queue.poll()
        return self.done

    def is_success(self) -> bool:
        """Whether it has completed without an error."""
        return self.done and self._error is None

    def exception(self) -> BaseException | None:
        """The error with which it completed, or None."""
        return self._error

    def result(self) -> Any:
        """The tensors that it wrote."""
        self.wait()
        return None if self._result is None else self._result()

    def get_future(self) -> Future:
        """A future whose value is the list of tensors that the operation writes."""
        return Future(self.result, self.is_completed)


class Future:
    """A value that will be known; ``then`` makes another one of it.

    >>> Future(lambda: 3).then(lambda future: future.value() + 1).wait()
    4
    """

    def __init__(self, get: Callable[[], Any], ready: Callable[[], bool] | None = None) -> None:
        self._get = get
        self._ready = ready
        self._known = False
        self._value: Any = None

    def wait(self) -> Any:
        """The value, once it is known."""
        if not self._known:
            self._value = self._get()
            self._known = True
        return self._value

    def value(self) -> Any:
        """The same as ``wait()``."""
        return self.wait()

    def done(self) -> bool:
        """Whether the value is known."""
        return self._known or self._ready is None or self._ready()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of the result of ``callback`` for this one."""
        return Future(lambda: callback(self), self.done)


class Finished(Work):
    """The handle of an operation that had nothing to wait for."""

    def __init__(self) -> None:
        self.done = True
        self._error = None
        self._result = None
