"""Random numbers: seeds, state, and generators.

A draw depends on the seed and on the draws before it, never on the number of threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from genesis._C import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Put the state of the default generator back at the end of a ``with`` block.

    ``devices`` names CUDA devices whose generators go with it in PyTorch; here there are none.
    """
    if isinstance(devices, bool):  # fork_rng(False)
        enabled = devices
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
