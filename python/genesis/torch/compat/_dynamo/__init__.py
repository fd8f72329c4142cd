"""``torch._dynamo``: the compiler that is not there."""

from __future__ import annotations

from typing import Any

from genesis.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)
from genesis.torch.compat._dynamo import config, eval_frame, utils
from genesis.torch.compat._dynamo.eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "reset",
    "substitute_in_graph",
    "utils",
]

disallow_in_graph = forbid_in_graph = run = optimize_assert = allow_in_graph


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that changes nothing."""
    return allow_in_graph


def graph_break(msg: str = "") -> None:
    """Nothing: no graph is being made."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing: no sizes are guessed."""


mark_dynamic = maybe_mark_dynamic = mark_static_address = mark_unbacked = mark_static


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled: no."""
    return False
