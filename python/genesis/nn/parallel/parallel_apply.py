"""Several modules, each with its own input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis.nn.modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """The result of each module with its input, one after the other."""
    named = kwargs_tup or [{}] * len(modules)
    return [
        module(*(args if isinstance(args, (list, tuple)) else (args,)), **kwargs)
        for module, args, kwargs in zip(modules, inputs, named, strict=True)
    ]
