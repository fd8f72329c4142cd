"""Rules of views, and of operators that move values: dimensions shift by one."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._elementwise import leading_values, require_mapped_self
from genesis.func._batching._tensor import (
    Call,
    batch_of,
    is_at,
    loop,
    rule,
    sort_rule,
)

# Parameters that name dimensions.
DIMS = (
    "dim",
    "dims",
    "dim0",
    "dim1",
    "dim2",
    "axis0",
    "axis1",
    "source",
    "destination",
    "start_dim",
    "end_dim",
    "dimension",
)


def shifted(name: str, d: Any, rank: int) -> Any:
    """A dimension, or several, of a tensor with ``rank`` dimensions as one of the batch."""
    if isinstance(d, (list, tuple)):
        return [shifted(name, i, rank) for i in d]
    bound = max(rank, 1)
    if not -bound <= d < bound:
        raise IndexError(
            f"{name}: dim {d} is out of range for a tensor of {rank} dimensions; expected "
            f"{-bound} to {bound - 1}"
        )
    return d % bound + 1


def _default(text: str | None) -> Any:
    if text is None or text == "None":
        return None
    if text.startswith("("):
        return [int(t) for t in text.strip("()").split(",") if t.strip()]
    return int(text)


@sort_rule("dims")
def dims(call: Call) -> Any:
    """The batch goes first, and arguments that name dimensions shift by one."""
    op, level = call.op, call.level
    if not any(name in op.params for name in DIMS):
        return loop(call)
    if op.in_place:
        require_mapped_self(call)
    bound = call.bind()
    first = next(iter(op.params))
    x = bound.pop(first)
    rank = x.ndim
    value = batch_of(x, level)
    scalar = rank == 0
    if scalar:
        value = value.unsqueeze(1)
    for name in DIMS:
        if name not in op.params:
            continue
        if name not in bound:
            if name == op.variadic:
                continue
            bound[name] = _default(op.params[name]["default"])
        if bound[name] is None:
            continue
        bound[name] = shifted(op.name, bound[name], rank)
    others = {k: v._value if is_at(v, level) else v for k, v in bound.items()}
    rest = list(others.pop(op.variadic, ())) if op.variadic else leading_values(op, others, 1)
    result = op.func(value, *rest, **{k: v for k, v in others.items() if v is not None})
    if scalar and not op.in_place:
        result = _without_last(result)
    return call.result(result)


def _without_last(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result.squeeze(1) if result.ndim == 2 and result.shape[1] == 1 else result
    parts = [_without_last(r) for r in result]
    return type(result)(*parts) if hasattr(type(result), "_fields") else type(result)(parts)


def _sizes(call: Call, name: str) -> list[int]:
    return [int(s) for s in call.bind()[name]]


@rule("reshape", "view")
def reshape(call: Call) -> Any:
    bound = call.bind()
    x = call.args[0]
    shape = bound.get("shape", ())
    dtype = bound.get("dtype")
    if len(shape) == 1 and not isinstance(shape[0], (int, Tensor)):
        dtype, shape = shape[0], ()
    if dtype is not None:
        if x.ndim == 0:
            return call.result(x._value.unsqueeze(-1).view(dtype=dtype).squeeze(-1))
        return call.result(x._value.view(dtype=dtype))
    sizes = [int(s) for s in shape]
    if -1 in sizes and x._value.numel() == 0:  # the unknown size follows from the logical shape
        known = 1
        for s in sizes:
            known *= s if s != -1 else 1
        sizes[sizes.index(-1)] = x.numel() // known if known else 0
    return call.result(call.op.func(x._value, [call.level.size, *sizes]))


@rule("reshape_as", "view_as")
def reshape_as(call: Call) -> Any:
    x, other = call.args[0], call.args[1] if len(call.args) > 1 else call.kwargs["other"]
    return x.reshape(other.shape) if call.op.name == "reshape_as" else x.view(other.shape)


@rule("_gate", "_shared_node")
def gate(call: Call) -> Any:
    raise RuntimeError("vmap: gates of a graph cannot be mapped over")


@rule("expand", "broadcast_to", "expand_as")
def expand(call: Call) -> Any:
    x = call.args[0]
    if call.op.name == "expand_as":
        sizes = list((call.args[1] if len(call.args) > 1 else call.kwargs["other"]).shape)
    else:
        sizes = _sizes(call, "sizes" if call.op.name == "expand" else "size")
    if type(x) is Tensor or x not in [x] or not hasattr(x, "_value") or x._level is not call.level:
        return x.expand(sizes)  # only the other tensor is mapped
    if len(sizes) < x.ndim:
        raise RuntimeError(
            f"{call.op.name}: {len(sizes)} sizes for a tensor of {x.ndim} dimensions"
        )
    missing = len(sizes) - x.ndim
    value = x._value.reshape(call.level.size, *(1,) * missing, *x.shape) if missing else x._value
    return call.result(value.expand(call.level.size, *sizes))


@rule("repeat", "tile")
def repeat(call: Call) -> Any:
    x = call.args[0]
    times = _sizes(call, "repeats" if call.op.name == "repeat" else "dims")
    if call.op.name == "repeat" and len(times) < x.ndim:
        raise RuntimeError(f"repeat: {len(times)} numbers for a tensor of {x.ndim} dimensions")
    times = [1] * (x.ndim - len(times)) + times
    missing = len(times) - x.ndim
    value = x._value.reshape(call.level.size, *(1,) * missing, *x.shape) if missing else x._value
    return call.result(value.repeat(1, *times))


@rule("flatten")
def flatten(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    if x.ndim == 0:
        return call.result(x._value.unsqueeze(1))
    start = shifted("flatten", bound.get("start_dim", 0), x.ndim)
    end = shifted("flatten", bound.get("end_dim", -1), x.ndim)
    return call.result(x._value.flatten(start, end))


@rule("ravel")
def ravel(call: Call) -> Any:
    return call.result(call.args[0]._value.reshape(call.level.size, call.args[0].numel()))


@rule("squeeze", "squeeze_")
def squeeze(call: Call) -> Any:
    bound = call.bind()
    x, dim = bound["input"], bound.get("dim")
    if dim is None:
        chosen = [d + 1 for d, n in enumerate(x.shape) if n == 1]
    else:
        each = dim if isinstance(dim, (list, tuple)) else [dim]
        places = shifted("squeeze", list(each), x.ndim)
        chosen = [d for d in places if d <= x.ndim and x._value.shape[d] == 1]
    return _reshaped(call, x._value.squeeze(chosen) if chosen else x._value)


@rule("unsqueeze", "unsqueeze_")
def unsqueeze(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    d = shifted(call.op.name, bound["dim"], x.ndim + 1)
    return _reshaped(call, x._value.unsqueeze(d))


def _reshaped(call: Call, value: Tensor) -> Any:
    """The result of a view; in place, the tensor itself has the new shape."""
    if call.op.in_place:
        return _C._batched(value, call.level, call.args[0])
    return call.result(value)


def _two(call: Call, names: tuple[str, str]) -> list[int]:
    bound = call.bind()
    given = [bound[n] for n in names if bound.get(n) is not None]
    return list(bound.get(call.op.variadic, ())) + given if call.op.variadic else given


@rule("transpose", "swapaxes", "swapdims", "transpose_", "swapaxes_", "swapdims_")
def transpose(call: Call) -> Any:
    x = call.args[0]
    names = ("axis0", "axis1") if "axes" in call.op.name else ("dim0", "dim1")
    pair = _two(call, names)
    if not pair and x.ndim < 2:
        return call.result(x._value)
    if len(pair) == 2 and x.ndim < 2:
        shifted(call.op.name, pair, x.ndim)
        return _reshaped(call, x._value)
    if len(pair) != 2:  # NumPy's: all dimensions in another order
        return x.permute(pair) if pair else x.transpose(-2, -1)
    if x.ndim == 0:
        shifted(call.op.name, pair, 0)
        return _reshaped(call, x._value)
    a, b = shifted(call.op.name, pair, x.ndim)
    return _reshaped(call, x._value.transpose(a, b))


@rule("t", "t_")
def t(call: Call) -> Any:
    x = call.args[0]
    if x.ndim > 2:
        raise RuntimeError(f"t: needs at most 2 dimensions, got shape {tuple(x.shape)}")
    return _reshaped(call, x._value.transpose(1, 2) if x.ndim == 2 else x._value)


@rule("T.__get__", "H.__get__")
def reverse(call: Call) -> Any:
    x = call.args[0]
    value = x._value.permute(0, *range(x.ndim, 0, -1))
    if call.op.name == "H.__get__" and x.is_complex():
        value = value.conj()
    return call.result(value)


@rule("mT.__get__", "mH.__get__", "adjoint")
def matrix_transpose(call: Call) -> Any:
    x = call.args[0]
    if x.ndim < 2 and (x.ndim == 1 or call.op.name != "adjoint"):
        raise RuntimeError(f"mT: needs at least 2 dimensions, got shape {tuple(x.shape)}")
    value = x._value.transpose(-2, -1) if x.ndim else x._value
    if call.op.name != "mT.__get__" and x.is_complex():
        value = value.conj()
    return call.result(value)


@rule("permute")
def permute(call: Call) -> Any:
    x = call.args[0]
    order = shifted("permute", [int(d) for d in call.bind()["dims"]], x.ndim)
    return call.result(x._value.permute(0, *order))


@rule("movedim", "moveaxis")
def movedim(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    source = shifted("movedim", bound["source"], x.ndim)
    destination = shifted("movedim", bound["destination"], x.ndim)
    return call.result(x._value.movedim(source, destination) if x.ndim else x._value)


@rule("as_strided", "as_strided_")
def as_strided(call: Call) -> Any:
    bound = call.bind()
    value = bound["input"]._value
    offset = bound.get("storage_offset")
    return _reshaped(
        call,
        value.as_strided(
            [call.level.size, *bound["size"]],
            [value.stride(0), *bound["stride"]],
            value.storage_offset() if offset is None else offset,
        ),
    )


@rule("as_strided_scatter")
def as_strided_scatter(call: Call) -> Any:
    bound = call.bind()
    x, source = bound.pop("input"), bound.pop("src")
    values, sources = batch_of(x, call.level), batch_of(source, call.level)
    made = [
        call.op.func(values.select(0, i).clone(), sources.select(0, i), **bound)
        for i in range(call.level.size)
    ]
    return call.result(_C.stack(made))


@rule("hsplit", "vsplit", "dsplit")
def split_along(call: Call) -> Any:
    x, sections = call.args[0], [*call.args[1:], *call.kwargs.values()][0]
    least, dim = {"hsplit": (1, 1), "vsplit": (2, 0), "dsplit": (3, 2)}[call.op.name]
    if x.ndim < least:
        raise RuntimeError(
            f"{call.op.name}: needs at least {least} dimensions, got shape {tuple(x.shape)}"
        )
    return x.tensor_split(sections, 0 if x.ndim == 1 else dim)


@rule("cat", "concat", "concatenate", "stack")
def cat(call: Call) -> Any:
    bound = call.bind()
    tensors = bound["tensors"]
    dim = bound.get("dim", 0)
    rank = max(x.ndim for x in tensors) + (call.op.name == "stack")
    place = shifted(call.op.name, dim, rank)
    if call.op.name != "stack":  # an empty line fits to everything
        tensors = [x for x in tensors if not (x.ndim == 1 and x.numel() == 0 and rank > 1)]
    return call.result(call.op.func([batch_of(x, call.level) for x in tensors], place))


@rule("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(call: Call) -> Any:
    least = int(call.op.name[8])
    tensors = call.bind()["tensors"]
    made = [_at_least(x, least) for x in tensors]
    return made[0] if len(call.args) == 1 and isinstance(call.args[0], Tensor) else tuple(made)


def _at_least(x: Tensor, least: int) -> Tensor:
    if x.ndim >= least:
        return x
    if least == 3:
        return x.view(*((1, 1, 1), (1, -1, 1))[x.ndim]) if x.ndim < 2 else x.unsqueeze(-1)
    return x.view(*(1,) * (least - x.ndim), *x.shape)


@rule("hstack", "vstack", "row_stack", "dstack", "column_stack")
def stacks(call: Call) -> Any:
    tensors = call.bind()["tensors"]
    if call.op.name == "hstack":
        tensors = [_at_least(x, 1) for x in tensors]
        return _C.cat(tensors, 0 if tensors[0].ndim == 1 else 1)
    if call.op.name == "dstack":
        return _C.cat([_at_least(x, 3) for x in tensors], 2)
    if call.op.name == "column_stack":
        return _C.cat([x.reshape(x.numel(), 1) if x.ndim < 2 else x for x in tensors], 1)
    return _C.cat([_at_least(x, 2) for x in tensors], 0)


@rule("broadcast_tensors")
def broadcast_tensors(call: Call) -> Any:
    tensors = call.bind()["tensors"]
    shape = _C.broadcast_shapes(*[tuple(x.shape) for x in tensors])
    return tuple(x.expand(shape) for x in tensors)


@rule("meshgrid")
def meshgrid(call: Call) -> Any:
    tensors = call.bind()["tensors"]
    xy = call.kwargs.get("indexing", "ij") == "xy" and len(tensors) > 1
    sizes = [x.numel() for x in tensors]
    order = [1, 0, *range(2, len(tensors))] if xy else list(range(len(tensors)))
    shape = [sizes[i] for i in order]
    grids = []
    for i, x in enumerate(tensors):
        at = order.index(i)
        grids.append(x.reshape([-1 if d == at else 1 for d in range(len(shape))]).expand(shape))
    return tuple(grids)


@rule("cartesian_prod")
def cartesian_prod(call: Call) -> Any:
    tensors = call.bind()["tensors"]
    if len(tensors) == 1:
        return tensors[0]
    return _C.stack([g.reshape(-1) for g in _C.meshgrid(*tensors)], -1)


@rule("combinations")
def combinations(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    places = _C.combinations(
        _C.arange(x.numel()), bound.get("r", 2), bound.get("with_replacement", False)
    )
    return x[places]


@rule("block_diag")
def block_diag(call: Call) -> Any:
    tensors = [_at_least(x, 2) for x in call.bind()["tensors"]]
    width = sum(x.shape[1] for x in tensors)
    rows, before = [], 0
    for x in tensors:
        rows.append(_C.constant_pad_nd(x, [before, width - before - x.shape[1]]))
        before += x.shape[1]
    return _C.cat(rows, 0)


@rule("roll")
def roll(call: Call) -> Any:
    bound = call.bind()
    x, shifts, where = bound["input"], bound["shifts"], bound.get("dims")
    if where is None or (isinstance(where, (list, tuple)) and not where):
        flat = x._value.reshape(call.level.size, x.numel())
        return call.result(flat.roll(shifts, 1).reshape(x._value.shape))
    if x.ndim == 0:
        return x.clone()
    return call.result(x._value.roll(shifts, shifted("roll", where, x.ndim)))


@rule("flip", "fliplr", "flipud", "rot90")
def flips(call: Call) -> Any:
    x = call.args[0]
    if call.op.name == "fliplr":
        return x.flip(1)
    if call.op.name == "flipud":
        return x.flip(0)
    bound = call.bind()
    if call.op.name == "flip":
        places = [int(d) for d in bound["dims"]]
        if x.ndim == 0:
            return x.clone()
        return call.result(x._value.flip(*shifted("flip", places, x.ndim)))
    where = shifted("rot90", list(bound.get("dims", (0, 1))), x.ndim)
    return call.result(x._value.rot90(bound.get("k", 1), where))


@rule("diag", "diagflat")
def diag(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    offset = bound.get("diagonal", bound.get("offset", 0))
    if call.op.name == "diagflat":
        x = x.reshape(x.numel())
    if x.ndim == 1:
        return x.diag_embed(offset)
    if x.ndim != 2:
        raise RuntimeError(f"diag: needs 1 or 2 dimensions, got shape {tuple(x.shape)}")
    return x.diagonal(offset)


@rule("diag_embed")
def diag_embed(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    a, b = bound.get("dim1", -2), bound.get("dim2", -1)
    a, b = shifted("diag_embed", [a, b], x.ndim + 1)
    return call.result(x._value.diag_embed(bound.get("offset", 0), a, b))


@rule("fill_diagonal_")
def fill_diagonal(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    require_mapped_self(call)
    if x.ndim != 2 or bound.get("wrap", False):
        made = x._value.contiguous()
        for i in range(call.level.size):
            made.select(0, i).fill_diagonal_(bound["fill_value"], bound.get("wrap", False))
        x._value.copy_(made)
        return x
    x._value.diagonal(0, 1, 2).fill_(bound["fill_value"])
    return x


@rule("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
def new(call: Call) -> Any:
    bound = call.bind()
    x = bound.pop("input")
    size = bound.pop("size")
    shape = [call.level.size, *([size] if isinstance(size, int) else size)]
    if call.op.name == "new_empty_strided":
        bound.pop("stride")
        return call.result(x._value.new_empty(shape, **bound))
    if call.op.name == "new_full":
        return call.result(x._value.new_full(shape, bound.pop("fill_value"), **bound))
    return call.result(call.op.func(x._value, shape, **bound))


@rule("new_tensor")
def new_tensor(call: Call) -> Any:
    return _C.tensor(call.args[1], dtype=call.kwargs.get("dtype", call.args[0].dtype))


@rule("select_scatter", "slice_scatter", "diagonal_scatter")
def scatters(call: Call) -> Any:
    bound = call.bind()
    x, src = bound["input"].clone(), bound["src"]
    if type(x) is Tensor or x._level is not call.level:
        x = call.result(batch_of(x, call.level).clone())
    if call.op.name == "select_scatter":
        x.select(bound["dim"], bound["index"]).copy_(src)
    elif call.op.name == "slice_scatter":
        x.slice(
            bound.get("dim", 0), bound.get("start"), bound.get("end"), bound.get("step", 1)
        ).copy_(src)
    else:
        x.diagonal(bound.get("offset", 0), bound.get("dim1", 0), bound.get("dim2", 1)).copy_(src)
    return x


@rule("repeat_interleave")
def repeat_interleave(call: Call) -> Any:
    bound = call.bind()
    x, repeats, dim = bound["input"], bound.get("repeats"), bound.get("dim")
    if repeats is None or not hasattr(x, "_value") or hasattr(repeats, "_value"):
        from genesis.func._batching._tensor import looped

        return looped(call)
    if dim is None:
        x, dim = x.reshape(x.numel()), 0
    return call.result(
        x._value.repeat_interleave(repeats, shifted("repeat_interleave", dim, x.ndim))
    )


@rule("one_hot")
def one_hot(call: Call) -> Any:
    bound = call.bind()
    classes = bound.get("num_classes", -1)
    if classes == -1:
        from genesis.func._batching._values import refuse

        if not call.level.replicas:
            refuse("one_hot", "needs the largest value of a mapped tensor; pass num_classes")
        classes = int(bound["input"]._value.max()) + 1
    return call.result(_C.one_hot(bound["input"]._value, classes))


@rule("resize_", "resize_as_")
def resize(call: Call) -> Any:
    raise RuntimeError(f"vmap: {call.op.name} would change memory of all elements; use reshape()")


@rule("unfold")
def unfold(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    if x.ndim == 0:
        return x.reshape(1).unfold(bound["dimension"], bound["size"], bound["step"])[0]
    place = shifted("unfold", bound["dimension"], x.ndim)
    return call.result(x._value.unfold(place, bound["size"], bound["step"]))


@rule("tensor_split")
def tensor_split(call: Call) -> Any:
    bound = call.bind()
    x, where = bound["input"], bound["indices_or_sections"]
    if isinstance(where, Tensor):
        where = where.tolist()
    place = shifted("tensor_split", bound.get("dim", 0), x.ndim)
    return call.result(x._value.tensor_split(where, place))


@rule("unflatten")
def unflatten(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    return call.result(
        x._value.unflatten(shifted("unflatten", bound["dim"], x.ndim), bound["sizes"])
    )
