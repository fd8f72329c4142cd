"""Results that come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from genesis._missing import explain

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that some thread sets, and others wait for.

    >>> future = genesis.futures.Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(4)
    >>> doubled.wait()
    8
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._lock = threading.Condition()
        self._done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error, is there."""
        return self._done

    def wait(self) -> T:
        """The value, once it is there; an error is raised."""
        with self._lock:
            self._lock.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> T:
        """The value, which must be available."""
        if not self._done:
            raise RuntimeError("Future.value: there is no value yet; call wait()")
        if self._error is not None:
            raise self._error
        return cast(T, self._value)

    def set_result(self, result: T) -> None:
        """Set the value, once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error instead of a value."""
        if not isinstance(result, BaseException):
            raise TypeError(f"Future.set_exception: expected an exception, got {result!r}")
        self._finish(None, result)

    def _finish(self, value: T | None, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError("Future: the result is set already")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` when the value is there; at once if it is."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of what ``callback(self)`` will return."""
        result: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                result.set_result(callback(done))
            except BaseException as error:
                result.set_exception(error)

        self.add_done_callback(run)
        return result


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future that is done when all of these are; its value is the list of them."""
    result: Future[list[Future[Any]]] = Future()
    if not futures:
        result.set_result([])
        return result
    left, lock = len(futures), threading.Lock()

    def one_done(_: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            result.set_result(futures)

    for future in futures:
        future.add_done_callback(one_done)
    return result


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The values of all futures.

    >>> future = genesis.futures.Future()
    >>> future.set_result(1)
    >>> genesis.futures.wait_all([future])
    [1]
    """
    return [future.wait() for future in collect_all(futures).wait()]


explain(globals())
