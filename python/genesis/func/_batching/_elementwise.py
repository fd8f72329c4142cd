"""Rules of operators that broadcast, and of those that take dimensions before their own."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._tensor import (
    BatchedTensor,
    Call,
    Level,
    Operator,
    batch_of,
    is_at,
    rule,
    sort_rule,
)


def lifted(x: Any, level: Level, rank: int) -> Any:
    """The batch behind ``x``, with ``rank`` dimensions after that of the batch."""
    if type(x) is BatchedTensor and x._level is level:
        value = x._value
        missing = rank - x.ndim
        return value.reshape(level.size, *(1,) * missing, *x.shape) if missing > 0 else value
    return x


def _promoted(x: Tensor, value: Tensor, others: list[Tensor]) -> Tensor:
    """``value``, converted if ``x``, which has no dimensions, does not count for the dtype."""
    if x.dtype == _C.bool:
        return value
    for other in others:
        if other.ndim > 0 and other.dtype != x.dtype and _C.result_type(x, other) == other.dtype:
            return value.to(other.dtype)
    return value


def _flat(call: Call) -> list[Any]:
    tensors = [a for a in call.args if isinstance(a, Tensor)]
    return tensors + [v for v in call.kwargs.values() if isinstance(v, Tensor)]


def require_mapped_self(call: Call) -> None:
    """An operator in place cannot write several values into one tensor."""
    x = call.args[0]
    if type(x) is not BatchedTensor or x._level is not call.level:
        raise RuntimeError(
            f"vmap: {call.op.name} would write a different value for each element of the batch "
            "into a tensor that vmap does not map over; use the operator that returns a new "
            f"tensor, {call.op.name.strip('_')}(), or make the tensor with zeros_like() or "
            "new_zeros() of a mapped one"
        )


@sort_rule("elementwise")
def elementwise(call: Call) -> Any:
    """The batch is one more dimension that broadcasts."""
    level, args, kwargs = call.level, call.args, call.kwargs
    if call.op.in_place:
        require_mapped_self(call)
    if len(args) == 1 and not kwargs:
        return call.result(call.op.func(args[0]._value))
    if len(args) == 2 and not kwargs and not call.op.in_place:
        x, y = args
        if is_at(x, level) and is_at(y, level) and x.ndim == y.ndim and x.dtype == y.dtype:
            return _C._batched(call.op.func(x._value, y._value), level)
    tensors = _flat(call)
    if len(tensors) == 1:
        x = tensors[0]
        return call.result(
            call.op.func(
                *(a._value if a is x else a for a in args),
                **{k: v._value if v is x else v for k, v in kwargs.items()},
            )
        )
    rank = max(x.ndim for x in tensors)
    mixed = len({x.dtype for x in tensors}) > 1 and call.op.name != "where"

    def value_of(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        value = lifted(x, level, rank)
        if mixed and value is not x and x.ndim == 0:
            value = _promoted(x, value, tensors)
        return value

    if call.op.in_place and rank > args[0].ndim:
        raise RuntimeError(
            f"{call.op.name}: a result of {rank} dimensions cannot be written into a tensor of "
            f"shape {tuple(args[0].shape)}"
        )
    return call.result(
        call.op.func(*map(value_of, args), **{k: value_of(v) for k, v in kwargs.items()})
    )


def leading_values(op: Operator, bound: dict[str, Any], start: int = 0) -> list[Any]:
    """Arguments from ``start`` on that are given without a gap, to be passed by position."""
    found = []
    for name, param in list(op.params.items())[start:]:
        if param["keyword_only"] or name not in bound:
            break
        found.append(bound.pop(name))
    return found


@sort_rule("leading")
def leading(call: Call) -> Any:
    """All tensors get the batch as their first dimension, and the same number of dimensions."""
    level = call.level
    bound = call.bind()
    own = {k: 1 if k in _VECTORS else 2 for k, x in bound.items() if isinstance(x, Tensor)}
    before = max([bound[k].ndim - n for k, n in own.items()], default=0)

    def value_of(k: str, x: Any) -> Any:
        if not isinstance(x, Tensor) or (x.ndim == 0 and not is_at(x, level)):
            return x
        value = batch_of(x, level)
        missing = before - (x.ndim - own[k])
        if missing <= 0 or len(own) == 1 or x.ndim < own[k]:
            return value
        return value.reshape(level.size, *(1,) * missing, *x.shape)

    if call.op.in_place:
        require_mapped_self(call)
    values = {k: value_of(k, x) for k, x in bound.items()}
    before_gap = leading_values(call.op, values)
    return call.result(call.op.func(*before_gap, **values))


# Parameters of operators on matrices that are vectors.
_VECTORS = ("pivots", "tau", "LU_pivots", "input2")


for _name in ("tril", "triu", "tril_", "triu_", "constant_pad_nd", "zero_"):
    rule(_name)(elementwise)
for _name in ("type", "float", "double", "half", "bfloat16", "long", "int"):
    rule(_name)(elementwise)
for _name in ("short", "char", "byte", "bool", "copy_"):
    rule(_name)(elementwise)
for _name in ("cfloat", "cdouble", "chalf", "detach", "detach_", "requires_grad_", "retain_grad"):
    rule(_name)(elementwise)


for _name in ("conj", "conj_physical", "conj_physical_", "real", "imag", "resolve_conj"):
    rule(_name)(elementwise)
for _name in ("resolve_neg", "view_as_real", "view_as_complex", "angle", "isreal"):
    rule(_name)(elementwise)

# A number on the left: 1 - x.
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    rule(f"__r{_name}__")(elementwise)
for _name in ("and", "or", "xor", "lshift", "rshift"):
    rule(f"__r{_name}__")(elementwise)


@rule("clone", "contiguous", "zeros_like", "ones_like", "empty_like", "full_like")
def like(call: Call) -> Any:
    options = {k: v for k, v in call.kwargs.items() if k != "memory_format"}
    args = call.args[:1] if call.op.name == "contiguous" else call.args
    return call.result(call.op.func(args[0]._value, *args[1:], **options))


@rule("fill", "fill_", "masked_fill", "masked_fill_")
def fill(call: Call) -> Any:
    value = (*call.args, *call.kwargs.values())[-1]
    if type(value) is not BatchedTensor:
        return elementwise(call)
    if value.ndim > 0:
        raise RuntimeError(
            f"{call.op.name}: value must be a number or a 0-d tensor, got shape "
            f"{tuple(value.shape)}"
        )
    x = call.args[0]
    if call.op.in_place:
        require_mapped_self(call)
    value = value.to(x.dtype)
    if "masked" in call.op.name:
        mask = call.args[1] if len(call.args) > 1 else call.kwargs["mask"]
        made = _C.where(mask, value, x)
    else:
        made = value.expand(x.shape)
    return x.copy_(made) if call.op.in_place else made


@rule("where")
def where(call: Call) -> Any:
    if len(call.args) == 1 and not call.kwargs:
        return call.args[0].nonzero(as_tuple=True)
    return elementwise(call)


@rule("to", "type_as")
def to(call: Call) -> Any:
    def dtype_of(x: Any) -> Any:
        return x.dtype if isinstance(x, Tensor) else x

    x, others = call.args[0], [dtype_of(a) for a in call.args[1:]]
    options = {k: dtype_of(v) for k, v in call.kwargs.items() if k != "memory_format"}
    options = {"dtype" if k == "other" else k: v for k, v in options.items()}
    if type(x) is not BatchedTensor:  # only the dtype is that of a mapped tensor
        return x.to(*others, **options)
    return call.result(x._value.to(*others, **options))


@rule("_rotary_embedding")
def rotary_embedding(call: Call) -> Any:
    x = call.args[0]
    level, rank = call.level, x.ndim
    rest = [lifted(a, level, rank) if isinstance(a, Tensor) else a for a in call.args[1:]]
    return call.result(call.op.func(batch_of(x, level), *rest, **call.kwargs))


@rule("prelu")
def prelu(call: Call) -> Any:
    x, weight = call.args[0], call.args[1] if len(call.args) > 1 else call.kwargs["weight"]
    if weight.numel() > 1 and x.ndim > 1:
        weight = weight.view(-1, *(1,) * (x.ndim - 2))
    elif weight.numel() == 1:
        weight = weight.view(())
    return _C.where(x > 0, x, x * weight)


@rule("cross", "linalg_cross")
def cross(call: Call) -> Any:
    bound = call.bind()
    default = -1 if call.op.name == "linalg_cross" else None
    x, y, dim = bound["input"], bound["other"], bound.get("dim", default)
    rank = max(x.ndim, y.ndim)
    x, y = _C.broadcast_tensors(x, y)
    if dim is None:
        dim = next((d for d in range(rank) if x.shape[d] == 3), -1)
    d = dim % rank + 1 - (rank + 1)
    value = call.op.func(batch_of(x, call.level), batch_of(y, call.level), dim=d)
    return call.result(value)


@rule("diff")
def diff(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    n, dim = bound.get("n", 1), bound.get("dim", -1)
    if n == 0:
        return x.clone()
    parts = [p for p in (bound.get("prepend"), x, bound.get("append")) if p is not None]
    if len(parts) > 1:
        x = _C.cat(parts, dim)
    for _ in range(n):
        size = x.shape[dim]
        if size == 0:
            break
        later, earlier = x.narrow(dim, 1, size - 1), x.narrow(dim, 0, size - 1)
        x = later.logical_xor(earlier) if x.dtype == _C.bool else later - earlier
    return x
