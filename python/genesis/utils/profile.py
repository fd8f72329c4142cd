"""Counts and times the calls of decorated functions. See `genesis.profiler` for operations.

The table is printed when the program ends, if anything was decorated.
"""

from __future__ import annotations

import atexit
import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["print_profile_data", "profile", "profile_method"]

T = TypeVar("T")

_begin = time.perf_counter()
profile_data: dict[str, dict[str, float]] = {}


def profile(target: T) -> T:
    """Decorate a function, or all methods of a class whose names do not start with ``__``.

    >>> @profile
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    if isinstance(target, type):
        for name, value in list(vars(target).items()):
            if callable(value) and not name.startswith("__"):
                setattr(target, name, profile_method(value))
        return target
    if callable(target):
        return profile_method(target)  # type: ignore[return-value]
    raise TypeError(f"profile: expected a function or a class, got {type(target).__name__}")


def profile_method(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function."""
    if not profile_data:
        atexit.register(print_profile_data)
    name = f"{func.__module__}.{func.__qualname__}"
    entry = profile_data.setdefault(name, {"calls": 0, "total_time": 0.0})

    @functools.wraps(func)
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return func(*args, **kwargs)
        finally:
            entry["calls"] += 1
            entry["total_time"] += time.perf_counter() - start

    return timed


def print_profile_data() -> None:
    """Print the number of calls and the total time of each decorated function."""
    if not profile_data:
        return
    print(f"Program cost {time.perf_counter() - _begin:.4f} seconds!")
    for name, entry in profile_data.items():
        print(f"{name}: {entry['calls']:.0f} calls, {entry['total_time']:.4f} total seconds")
