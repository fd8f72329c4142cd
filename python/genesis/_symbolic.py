"""Numbers that a compiler does not know yet. Without a compiler there are none of these."""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Symbolic:
    def __init__(self, node: Any) -> None:
        raise TypeError(f"{type(self).__name__}: Genesis has no symbolic numbers; use plain ones")


class SymInt(_Symbolic):
    """An unknown int; no number is one."""


class SymFloat(_Symbolic):
    """An unknown float; no number is one."""


class SymBool(_Symbolic):
    """An unknown bool; no number is one."""


def sym_int(a: Any) -> int:
    """``a`` rounded towards zero."""
    whole: int = math.trunc(a)
    return whole


def sym_float(a: Any) -> float:
    """``a`` as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number, a float if one of them is."""
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number, a float if one of them is."""
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)
