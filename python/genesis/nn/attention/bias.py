"""Masks of attention that are known by name."""

from __future__ import annotations

import genesis
from genesis._C import Tensor
from genesis._missing import explain

__all__ = ["causal_lower_right", "causal_upper_left"]


def causal_upper_left(*size: int) -> Tensor:
    """A mask that lets each query see the keys up to its own place."""
    return genesis.ones(*size, dtype=genesis.bool).tril()


def causal_lower_right(*size: int) -> Tensor:
    """A mask that lets the last query see all keys."""
    return genesis.ones(*size, dtype=genesis.bool).tril(size[-1] - size[-2])


explain(globals())
