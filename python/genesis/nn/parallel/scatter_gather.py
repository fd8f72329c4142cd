"""Batches cut for several devices, and results put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import genesis
from genesis._C import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Tensors cut into one part for each target; containers become a list of containers."""
    count = len(target_gpus)

    def cut(value: Any) -> list[Any]:
        if isinstance(value, Tensor):
            return list(value.chunk(count, dim))
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return [value._make(parts) for parts in zip(*map(cut, value), strict=True)]
        if isinstance(value, tuple) and value:
            return list(zip(*map(cut, value), strict=True))
        if isinstance(value, list) and value:
            return [list(parts) for parts in zip(*map(cut, value), strict=True)]
        if isinstance(value, dict) and value:
            columns = zip(*map(cut, value.values()), strict=True)
            return [type(value)(zip(value, parts, strict=True)) for parts in columns]
        return [value] * count

    return cut(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[Any, Any]:
    """``scatter`` of positional and of keyword arguments."""
    rows = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(rows), len(named))
    rows += [() for _ in range(count - len(rows))]
    named += [{} for _ in range(count - len(named))]
    return tuple(rows), tuple(named)


def gather(outputs: Any, target_device: Any = "cpu", dim: int = 0) -> Any:
    """The results of several devices as one; the only target there is, is the CPU."""
    first = outputs[0]
    if isinstance(first, Tensor):
        if first.ndim == 0:
            return genesis.stack(list(outputs))
        return genesis.cat(list(outputs), dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)(
            (key, gather([out[key] for out in outputs], target_device, dim)) for key in first
        )
    parts = [gather(column, target_device, dim) for column in zip(*outputs, strict=True)]
    return first._make(parts) if hasattr(first, "_make") else type(first)(parts)
