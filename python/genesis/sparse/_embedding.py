"""Embedding lookup with a sparse gradient of the weight."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.autograd.function import Function
from genesis.sparse._tensor import construct


class _Embedding(Function):
    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, index: Tensor, padding: int | None, scale: bool
    ) -> Tensor:
        ctx.index, ctx.size, ctx.padding, ctx.scale = index, tuple(weight.shape), padding, scale
        return _C.embedding(index, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        rows, size = ctx.index.reshape(-1).long(), ctx.size
        values = grad.reshape(-1, *size[1:]).clone()  # a copy, since .grad may be modified
        if ctx.scale:
            values = values / _C.bincount(rows, minlength=size[0])[rows].unsqueeze(-1)
        if ctx.padding is not None:
            kept = (rows != ctx.padding % size[0]).nonzero().reshape(-1)
            rows, values = rows[kept], values[kept]
        return construct(rows.unsqueeze(0), values, size), None, None, None


def embedding(index: Tensor, weight: Tensor, padding_idx: int | None, by_frequency: bool) -> Tensor:
    if weight.ndim != 2:
        raise _C.ShapeError(f"embedding: weight must be a matrix, got shape {tuple(weight.shape)}")
    result: Tensor = _Embedding.apply(weight, index, padding_idx, by_frequency)
    return result
