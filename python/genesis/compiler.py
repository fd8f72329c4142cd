"""The compiler's names. There is no compiler: functions run as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

T = TypeVar("T")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """``model`` itself: Genesis runs it as it is. Also a decorator with options.

    >>> genesis.compile(abs) is abs
    True
    """
    return (lambda function: function) if model is None else model


def disable(fn: Any = None, recursive: bool = True, **kwargs: Any) -> Any:
    """``fn`` itself; also a decorator with options."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: T) -> T:
    """``fn`` itself."""
    return fn


assume_constant_result = wrap_numpy = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[T], T]:
    """A decorator that changes nothing."""
    return allow_in_graph


def is_compiling() -> bool:
    """Whether this code is compiled: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Nothing: no compiled code is kept."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Names of compilers: none."""
    return []


@contextlib.contextmanager
def set_stance(stance: str = "default", **kwargs: Any) -> Iterator[None]:
    """A block in which nothing is different: nothing is compiled."""
    yield
