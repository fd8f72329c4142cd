"""Factors for learning rates over a run of known length."""

from __future__ import annotations

import math
from collections.abc import Callable


def warmup_cosine(total: int, warmup: int = 20, end: float = 0.01) -> Callable[[int], float]:
    """A factor for `LambdaLR`: up over ``warmup`` steps, then down to ``end`` along a cosine.

    >>> factor = warmup_cosine(100)
    >>> factor(0), round(factor(20), 2), round(factor(60), 2), round(factor(100), 2)
    (0.05, 1.0, 0.51, 0.01)
    """

    def factor(step: int) -> float:
        share = _share(step, total, warmup)
        return _rise(step, warmup) * (end + (1 - end) * 0.5 * (1 + math.cos(math.pi * share)))

    return factor


def warmup_linear(total: int, warmup: int = 20, end: float = 0.0) -> Callable[[int], float]:
    """A factor for `LambdaLR`: up over ``warmup`` steps, then down to ``end`` along a line.

    >>> factor = warmup_linear(100)
    >>> factor(0), factor(20), factor(60), factor(100)
    (0.05, 1.0, 0.5, 0.0)
    """

    def factor(step: int) -> float:
        return _rise(step, warmup) * (1 - (1 - end) * _share(step, total, warmup))

    return factor


def _rise(step: int, warmup: int) -> float:
    return min(1.0, (step + 1) / warmup) if warmup else 1.0


def _share(step: int, total: int, warmup: int) -> float:
    return max(0.0, min(1.0, (step - warmup) / max(1, total - warmup)))


NAMED = {"cosine": warmup_cosine, "linear": warmup_linear}
