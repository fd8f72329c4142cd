"""Grad modes as decorators: the function runs inside a new mode, entered at each call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

_GENERATOR = 0x20  # flags of a code object
_ASYNC = 0x80 | 0x200


def decorate(
    mode: Callable[..., AbstractContextManager[Any]],
    args: tuple[Any, ...],
    function: Callable[..., Any],
) -> Callable[..., Any]:
    """``function``, run inside ``with mode(*args)``; a generator is inside only while it runs."""
    if not callable(function) or isinstance(function, type):
        raise TypeError(
            f"a grad mode decorates functions, got {function!r}; "
            "of a class, decorate the methods that need it"
        )
    plain = function
    while isinstance(plain, functools.partial):
        plain = plain.func
    flags = getattr(getattr(plain, "__code__", None), "co_flags", 0)
    if flags & _ASYNC:
        raise TypeError(
            f"a grad mode cannot decorate {function!r}, which is async: the mode would be left at "
            "the first await; use a with block inside it"
        )

    @functools.wraps(function)
    def decorated(*a: Any, **k: Any) -> Any:
        with mode(*args):
            return function(*a, **k)

    @functools.wraps(function)
    def decorated_generator(*a: Any, **k: Any) -> Generator[Any, Any, Any]:
        with mode(*args):
            generator = function(*a, **k)
        step: Callable[..., Any] = generator.send
        sent: Any = None
        while True:
            try:
                with mode(*args):
                    value = step(sent)
            except StopIteration as stop:
                return stop.value
            try:
                sent = yield value
                step = generator.send
            except GeneratorExit:
                with mode(*args):
                    generator.close()
                raise
            except BaseException as error:  # thrown in by the caller: the generator decides
                sent, step = error, generator.throw

    return decorated_generator if flags & _GENERATOR else decorated
