"""Differentiable collective operations. They return new tensors; all ranks must run backward.

The loss is meant as the sum of the losses of all ranks, so the gradient of a sum over ranks is the
sum of the gradients of its results.
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Context, Tensor
from genesis.autograd.function import Function
from genesis.distributed import _collectives as plain
from genesis.distributed._reduce import ReduceOp, reduction_of
from genesis.distributed._world import get_rank, get_world_size

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

_SUM, _AVG = int(ReduceOp.SUM), int(ReduceOp.AVG)


def _linear(name: str, op: Any, tensor: Tensor) -> int:
    number = reduction_of(name, op, tensor.dtype)
    if number not in (_SUM, _AVG) and tensor.requires_grad:
        raise ValueError(f"{name}: only ReduceOp.SUM and ReduceOp.AVG have a gradient, got {op!r}")
    return number


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Context, op: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.detach().clone()
        plain.all_reduce(result, ReduceOp.RedOpType(op), group)
        return result

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad.contiguous())


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Context, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.detach().clone()
        plain.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, _SUM, ctx.group, grad.contiguous())
        return None, None, total if get_rank() == ctx.src else _C.zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Context, dst: int, op: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        result = tensor.detach().clone()
        plain.reduce(result, dst, ReduceOp.RedOpType(op), group)
        return result

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        share = _Broadcast.apply(ctx.dst, ctx.group, grad.contiguous())
        if ctx.op == _AVG:
            share = share / get_world_size(ctx.group)
        return None, None, None, share


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Context, group: Any, tensor: Tensor) -> Tensor:
        ctx.group = group
        result = _C.empty((get_world_size(group), *tensor.shape), dtype=tensor.dtype)
        plain.all_gather_into_tensor(result, tensor.detach().contiguous(), group)
        return result

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        return None, _ReduceScatter.apply(_SUM, ctx.group, grad.contiguous())


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Context, op: int, group: Any, stacked: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = _C.empty(tuple(stacked.shape[1:]), dtype=stacked.dtype)
        plain.reduce_scatter_tensor(result, stacked.detach(), ReduceOp.RedOpType(op), group)
        return result

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> Any:
        everything = _AllGather.apply(ctx.group, grad.contiguous())
        if ctx.op == _AVG:
            everything = everything / get_world_size(ctx.group)
        return None, None, everything


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Context, group: Any, shapes: list[Any], *tensors: Tensor) -> Any:
        ctx.group = group
        ctx.shapes = [tuple(t.shape) for t in tensors]
        outputs = [_C.empty(shape, dtype=tensors[0].dtype) for shape in shapes]
        plain.all_to_all(outputs, [t.detach().contiguous() for t in tensors], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> Any:
        back = _AllToAll.apply(ctx.group, ctx.shapes, *(g.contiguous() for g in grads))
        return None, None, *back


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction over all ranks."""
    result: Tensor = _AllReduce.apply(_linear("all_reduce", op, tensor), group, tensor)
    return result


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of the rank ``src``; its gradient is the sum of those of all ranks."""
    result: Tensor = _Broadcast.apply(src, group, tensor)
    return result


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction over all ranks on the rank ``dst``; other ranks get their own tensor back."""
    result: Tensor = _Reduce.apply(dst, _linear("reduce", op, tensor), group, tensor)
    return result


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    return tuple(_AllGather.apply(group, tensor).unbind(0))


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The reduction of number i of the lists, on rank i. ``output`` gives the shape."""
    stacked = _C.stack(list(input_list))
    if tuple(stacked.shape[1:]) != tuple(output.shape):
        raise ValueError(
            f"reduce_scatter: the inputs have shape {tuple(stacked.shape[1:])}, the output "
            f"{tuple(output.shape)}"
        )
    result: Tensor = _ReduceScatter.apply(_linear("reduce_scatter", op, stacked), group, stacked)
    return result


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Send input i to rank i. The outputs determine the shapes."""
    shapes = [tuple(t.shape) for t in output_tensor_list]
    return tuple(_AllToAll.apply(group, shapes, *input_tensor_list))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Parts of ``input`` along dimension 0 go to the ranks, and theirs are joined."""
    n = get_world_size(group)
    ins = input_split_sizes or [input.shape[0] // n] * n
    outs = output_split_sizes or [output.shape[0] // n] * n
    parts = list(input.split(ins, 0))
    shapes = [(rows, *output.shape[1:]) for rows in outs]
    return _C.cat(list(_AllToAll.apply(group, shapes, *parts)), 0)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on the rank ``dst``; zeros on the others."""
    parts = all_gather(tensor, group)
    if get_rank() == dst:
        return parts
    return tuple(p * 0 for p in parts)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Number i of the list of the rank ``src``, on rank i."""
    stacked = broadcast(_C.stack(list(tensors)), src, group)
    return stacked[get_rank(group)]
