"""The state of all random number generators of a process: Genesis, Python and NumPy."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

from genesis import _C

_WORD = (1 << 64) - 1


def capture() -> dict[str, Any]:
    """The states of the default generators of Genesis, `random`, and NumPy if it is imported.

    >>> state = capture()
    >>> x = genesis.rand(3)
    >>> restore(state)
    >>> genesis.equal(x, genesis.rand(3))
    True
    """
    state: dict[str, Any] = {"genesis": _C.get_rng_state(), "python": random.getstate()}
    numpy = _numpy_random()
    if numpy is not None:
        state["numpy"] = numpy.get_state()
    return state


def restore(state: dict[str, Any]) -> None:
    """Restore the states that `capture` returned.

    >>> restore(capture())
    """
    _C.set_rng_state(state["genesis"])
    random.setstate(state["python"])
    if "numpy" in state:
        import numpy.random

        numpy.random.set_state(state["numpy"])


def seed(number: int) -> None:
    """Seed all generators.

    >>> seed(3)
    """
    _C.manual_seed(number)
    random.seed(number)
    numpy = _numpy_random()
    if numpy is not None:
        numpy.seed(number & 0xFFFFFFFF)


@contextlib.contextmanager
def seeded(number: int) -> Iterator[None]:
    """A context with seeded generators; their states are restored at its end.

    >>> with seeded(3):
    ...     x = genesis.rand(2)
    """
    state = capture()
    seed(number)
    try:
        yield
    finally:
        restore(state)


def derive(number: int, *path: int) -> int:
    """An independent seed for each ``path``, derived from the seed ``number``.

    >>> derive(0, 1) == derive(0, 2)
    False
    """
    for step in path:
        number = (number ^ ((step + 1) * 0x9E3779B97F4A7C15)) & _WORD
        number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _WORD  # splitmix64
        number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _WORD
        number ^= number >> 31
    return number >> 1  # all generators accept nonnegative signed 64-bit numbers


def _numpy_random() -> Any:
    """numpy.random if NumPy is imported. NumPy imports this submodule lazily."""
    if "numpy" not in sys.modules:
        return None
    import numpy.random

    return numpy.random
