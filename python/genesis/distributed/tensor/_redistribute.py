"""Differentiable changes of placement along one dimension of a mesh.

The loss is the same on every rank, so the gradient of a replicated tensor is replicated: the
gradient of a sum over ranks is passed on as it is, and that of a replicated operand in a
divided computation is summed over the ranks.
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Context, Tensor
from genesis.autograd.function import Function
from genesis.distributed import _call
from genesis.distributed._group import ProcessGroup
from genesis.distributed._shards import gather_rows, rows_of
from genesis.distributed._work import Work
from genesis.distributed.tensor._placement import Partial, Placement, Replicate, Shard


def _sum(group: ProcessGroup, x: Tensor) -> Tensor:
    result = x.detach().clone()
    record = _call.record("all_reduce", result.dtype, result.shape)
    Work(group.queue, record, group.all_reduce(result, 0, record)).wait()
    return result


def _cut(group: ProcessGroup, x: Tensor, dim: int) -> Tensor:
    begin, end = rows_of(x.shape[dim], group.size(), group.rank())
    return x.narrow(dim, begin, end - begin).contiguous()


def _sum_scatter(group: ProcessGroup, x: Tensor, dim: int) -> Tensor:
    n, count = group.size(), x.shape[dim]
    if n == 1:
        return x.detach().clone()
    step = -(-count // n)
    moved = x.detach().movedim(dim, 0)
    table = _C.zeros((n * step, *moved.shape[1:]), dtype=x.dtype)
    table[:count] = moved
    output = _C.empty((step, *moved.shape[1:]), dtype=x.dtype)
    record = _call.record("reduce_scatter", x.dtype, output.shape)
    steps = group.reduce_scatter(output, table.reshape(-1), 0, record)
    Work(group.queue, record, steps).wait()
    begin, end = rows_of(count, n, group.rank())
    return output[: end - begin].movedim(0, dim).contiguous()


class _SumForward(Function):
    """Partial to replicated: the sum; its gradient is passed on."""

    @staticmethod
    def forward(ctx: Context, group: ProcessGroup, x: Tensor) -> Tensor:
        return _sum(group, x)

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, grad


class _SumBackward(Function):
    """A replicated operand of a sharded computation: unchanged; its gradient is summed."""

    @staticmethod
    def forward(ctx: Context, group: ProcessGroup, x: Tensor) -> Tensor:
        ctx.group = group
        return x.detach()

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, _SumForward.apply(ctx.group, grad)


class _Slice(Function):
    """Replicated to divided."""

    @staticmethod
    def forward(ctx: Context, group: ProcessGroup, x: Tensor, dim: int) -> Tensor:
        ctx.group, ctx.dim, ctx.count = group, dim, x.shape[dim]
        return _cut(group, x.detach(), dim).clone()

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, _Join.apply(ctx.group, grad, ctx.dim, ctx.count), None


class _Join(Function):
    """Divided to replicated."""

    @staticmethod
    def forward(ctx: Context, group: ProcessGroup, x: Tensor, dim: int, count: int) -> Tensor:
        ctx.group, ctx.dim = group, dim
        found = gather_rows(group, x, dim, count)
        return found.clone() if found is x else found.detach()

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, _Slice.apply(ctx.group, grad, ctx.dim), None, None


class _SumScatter(Function):
    """Partial to divided."""

    @staticmethod
    def forward(ctx: Context, group: ProcessGroup, x: Tensor, dim: int) -> Tensor:
        ctx.group, ctx.dim, ctx.count = group, dim, x.shape[dim]
        return _sum_scatter(group, x, dim)

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, _Join.apply(ctx.group, grad, ctx.dim, ctx.count), None


class _JoinSumScatter(Function):
    """Divided to replicated, for a computation that is divided after it."""

    @staticmethod
    def forward(ctx: Context, group: ProcessGroup, x: Tensor, dim: int, count: int) -> Tensor:
        ctx.group, ctx.dim = group, dim
        found = gather_rows(group, x, dim, count)
        return found.clone() if found is x else found.detach()

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, _SumScatter.apply(ctx.group, grad, ctx.dim), None, None


def enter_divided(group: ProcessGroup, x: Tensor) -> Tensor:
    """A replicated tensor as the operand of a computation that differs between ranks."""
    if group.size() == 1 or not x.requires_grad:
        return x
    result: Tensor = _SumBackward.apply(group, x)
    return result


def join_for_divided(group: ProcessGroup, x: Tensor, dim: int, count: int) -> Tensor:
    """`enter_divided` of the full tensor, with one message less in backward."""
    result: Tensor = _JoinSumScatter.apply(group, x, dim, count)
    return result


def change(
    group: ProcessGroup, x: Tensor, now: Placement, then: Placement, shape: tuple[int, ...]
) -> Tensor:
    """``x`` in another placement; ``shape`` is that of the tensor along the other dimensions."""
    result: Tensor
    if now == then:
        return x
    if isinstance(now, Shard):
        if isinstance(then, Partial):
            raise ValueError("redistribute: a divided tensor cannot become partial")
        result = _Join.apply(group, x, now.dim, shape[now.dim])
        return (
            result
            if isinstance(then, Replicate)
            else change(group, result, Replicate(), then, shape)
        )
    if isinstance(now, Partial):
        if isinstance(then, Shard):
            result = _SumScatter.apply(group, x, then.dim)
        else:
            result = _SumForward.apply(group, x)
        return result
    if isinstance(then, Shard):
        result = _Slice.apply(group, x, then.dim)
        return result
    return x if group.rank() == 0 else x * 0
