"""Rules of operators that take places from other tensors."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._elementwise import require_mapped_self
from genesis.func._batching._shape import shifted
from genesis.func._batching._tensor import (
    BatchedTensor,
    Call,
    Level,
    batch_of,
    is_at,
    looped,
    rule,
    wrap,
)
from genesis.func._batching._values import refuse


def _own(call: Call, x: Tensor) -> Any:
    """The batch behind the first argument, which may be written if the operator is in place."""
    if call.op.in_place:
        require_mapped_self(call)
    return batch_of(x, call.level)


@rule("gather", "scatter", "scatter_", "scatter_add", "scatter_add_")
@rule("scatter_reduce", "scatter_reduce_")
def along(call: Call) -> Any:
    bound = call.bind()
    x, dim, index = bound.pop("input"), bound.pop("dim"), bound.pop("index")
    place = shifted(call.op.name, dim, x.ndim)
    value = _own(call, x)
    places = batch_of(index, call.level)
    for name in ("src", "value"):
        if isinstance(bound.get(name), Tensor):
            source = batch_of(bound[name], call.level)
            if bound[name].ndim == 0:  # a number for each element
                if not is_at(bound[name], call.level) and name == "value":
                    continue
                source = source.reshape(-1, *(1,) * index.ndim).expand(places.shape)
                bound.pop(name)
                name = "src"
            bound[name] = source
    if x.ndim == 0:
        value, places = value.unsqueeze(1), places.reshape(call.level.size, -1)
        if isinstance(bound.get("src"), Tensor):
            bound["src"] = bound["src"].reshape(call.level.size, -1)
        result = call.op.func(value, place, places, **bound)
        shape = index.shape if call.op.name == "gather" else x.shape
        return call.result(result.reshape(call.level.size, *shape))
    if index.ndim == 0:
        places = places.unsqueeze(1)
        if isinstance(bound.get("src"), Tensor):
            bound["src"] = bound["src"].reshape(call.level.size, 1)
        result = call.op.func(value, place, places, **bound)
        return call.result(result.squeeze(1) if call.op.name == "gather" else result)
    return call.result(call.op.func(value, place, places, **bound))


@rule("take_along_dim")
def take_along_dim(call: Call) -> Any:
    bound = call.bind()
    x, index, dim = bound["input"], bound["indices"], bound.get("dim")
    if dim is None:
        x, index, dim = x.reshape(x.numel()), index.reshape(index.numel()), 0
    dim = dim % x.ndim
    index = _C.where(index < 0, index + x.shape[dim], index)
    shape = [
        (n if d == dim else max(n, m)) if n and m else 0
        for d, (n, m) in enumerate(zip(x.shape, index.shape, strict=True))
    ]
    shape = [m if d == dim else s for d, (s, m) in enumerate(zip(shape, index.shape, strict=True))]
    sizes = list(shape)
    sizes[dim] = x.shape[dim]
    return x.expand(sizes).gather(dim, index.expand(shape))


@rule("take", "put", "put_")
def take(call: Call) -> Any:
    bound = call.bind()
    x, index = bound["input"], bound["index"]
    if call.op.name == "take":
        where = _C.where(index < 0, index + x.numel(), index)
        return x.reshape(x.numel())[where.reshape(index.numel())].reshape(index.shape)
    flat = [x.reshape(x.numel()), index.reshape(index.numel()), bound["source"].reshape(-1)]
    made = flat[0].index_put((flat[1],), flat[2], bound.get("accumulate", False)).reshape(x.shape)
    if call.op.in_place:
        require_mapped_self(call)
        return x.copy_(made)
    return made


@rule("index_select")
def index_select(call: Call) -> Any:
    bound = call.bind()
    x, dim, index = bound["input"], bound["dim"], bound["index"]
    if not is_at(index, call.level):
        if x.ndim == 0:
            return x.reshape(1)[index.reshape(-1)].reshape(())
        return call.result(_C.index_select(x._value, shifted("index_select", dim, x.ndim), index))
    if x.ndim == 0:
        return x.reshape(1)[index.reshape(-1)].reshape(())
    return x[(slice(None),) * (dim % x.ndim) + (index.reshape(index.numel()),)]


@rule("index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_")
@rule("index_reduce", "index_reduce_")
def index_writes(call: Call) -> Any:
    bound = call.bind()
    x, dim, index = bound.pop("input"), bound.pop("dim"), bound.pop("index")
    what = "value" if "fill" in call.op.name else "source"
    source = bound.pop(what)
    level = call.level
    if is_at(index, level) or x.ndim == 0 or (what == "value" and is_at(source, level)):
        return looped(call)
    value = _own(call, x)
    if isinstance(source, Tensor) and what == "source":
        source = batch_of(source, level)
        if source.ndim == 1:
            source = source.unsqueeze(1)
    place = shifted(call.op.name, dim, x.ndim)
    return call.result(call.op.func(value, place, index, source, **bound))


@rule("embedding")
def embedding(call: Call) -> Any:
    bound = call.bind()
    index, weight = bound.pop("input"), bound.pop("weight")
    level = call.level
    if not is_at(weight, level):
        return call.result(_C.embedding(index._value, weight, **bound))
    rows = weight.shape[0]
    places = batch_of(index, level)
    offsets = _C.arange(level.size).reshape(level.size, *(1,) * index.ndim) * rows
    out = _C.embedding(places + offsets, weight._value.reshape(-1, weight.shape[1]))
    padding = bound.get("padding_idx")
    if padding is not None:
        at_padding = (places == padding % rows).unsqueeze(-1)
        out = _C.where(at_padding, out.detach(), out)
    return call.result(out)


@rule("_embedding_bag")
def embedding_bag(call: Call) -> Any:
    bound = call.bind()
    index, weight = bound["input"], bound["weight"]
    if is_at(weight, call.level) or bound.get("scale_grad_by_freq"):
        rows = _C.embedding(index, weight)
        return rows.mean(-2) if bound.get("mean") else rows.sum(-2)
    places = index._value.reshape(-1, index.shape[-1])
    out = _C._embedding_bag(places, weight, bound.get("mean", False))
    return call.result(out.reshape(call.level.size, *index.shape[:-1], out.shape[-1]))


@rule("masked_scatter", "masked_scatter_")
def masked_scatter(call: Call) -> Any:
    bound = call.bind()
    x, mask, source = bound["input"], bound["mask"], bound["source"]
    full = mask.expand(_C.broadcast_shapes(tuple(x.shape), tuple(mask.shape)))
    if source.numel() == 0:
        return x if call.op.in_place else x.expand(full.shape).clone()
    flat = full.reshape(full.numel())
    place = (flat.cumsum(0) - 1).clamp(min=0)
    made = source.reshape(source.numel())[place].reshape(full.shape)
    result = _C.where(full, made, x)
    if call.op.in_place:
        require_mapped_self(call)
        return x.copy_(result)
    return result


# ---- x[...] -------------------------------------------------------------------------------------


def _as_tensor(item: Any) -> Any:
    """Lists and arrays as tensors; basic indices are unchanged."""
    if item is None or item is Ellipsis or isinstance(item, (slice, Tensor)):
        return item
    if isinstance(item, bool):
        return _C.tensor(item)
    if hasattr(item, "__index__") and not hasattr(item, "__len__"):
        return item.__index__()
    return _C.as_tensor(item)


def _width(item: Any) -> int:
    """The number of dimensions that an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, Tensor) and item.dtype == _C.bool:
        return item.ndim
    return 1


def _split(key: Any, rank: int, level: Level) -> tuple[list[Any], list[Any]]:
    """The basic items of a key, and the tensors in the places of the dimensions that remain."""
    items = [_as_tensor(i) for i in (key if isinstance(key, tuple) else (key,))]
    if not any(i is Ellipsis for i in items):
        items.append(Ellipsis)
    used = sum(_width(i) for i in items)
    if used > rank:
        raise IndexError(f"index: {used} indices for a tensor of {rank} dimensions")
    basic: list[Any] = []
    advanced: list[Any] = []
    for item in items:
        if item is Ellipsis:
            basic += [slice(None)] * (rank - used)
            advanced += [None] * (rank - used)
        elif item is None:
            basic.append(None)
            advanced.append(None)
        elif isinstance(item, slice):
            basic.append(item)
            advanced.append(None)
        elif isinstance(item, Tensor):
            found = _integers(item, level)
            basic += [slice(None)] * max(_width(item), 0)
            if item.dtype == _C.bool and item.ndim == 0:
                basic.append(None)
            advanced += found
        else:
            basic.append(item)
    while advanced and advanced[-1] is None:
        advanced.pop()
    return basic, advanced


def _integers(item: Tensor, level: Level) -> list[Tensor]:
    if item.dtype not in (_C.bool, _C.uint8) or (item.dtype == _C.uint8 and item.ndim == 0):
        return [item]
    if type(item) is BatchedTensor:
        if not item._level.replicas:
            refuse("__getitem__")
        item = item._value.select(0, 0)
        return _integers(item, level)
    if item.ndim == 0:
        return [_C.zeros(1 if bool(item) else 0, dtype=_C.int64)]
    return list(item.nonzero(as_tuple=True))


def _advanced(x: Tensor, places: list[Any], level: Level) -> tuple[tuple[Any, ...], int, int]:
    """The key of the batch for places of ``x``, the rank of the places, and where they belong."""
    tensors = [p for p in places if p is not None]
    rank = max(p.ndim for p in tensors)
    at = [i for i, p in enumerate(places) if p is not None]
    adjacent = at == list(range(at[0], at[0] + len(at)))
    key: list[Any] = [_C.arange(level.size).reshape(-1, *(1,) * rank)]
    for p in places:
        if p is None:
            key.append(slice(None))
        elif is_at(p, level):
            value = p._value
            key.append(value.reshape(level.size, *(1,) * (rank - p.ndim), *p.shape))
        else:
            key.append(p)
    return tuple(key), rank, at[0] if adjacent else 0


@rule("__getitem__")
def getitem(call: Call) -> Any:
    x, key = call.args
    level = call.level
    basic, places = _split(key, x.ndim, level)
    index = (slice(None), *basic)
    value = batch_of(x, level)[index]
    if not places:
        return wrap(value, level)
    where, rank, to = _advanced(x, places, level)
    out = value[where]
    if to and rank:
        out = out.movedim(list(range(1, rank + 1)), list(range(to + 1, to + rank + 1)))
    return wrap(out, level)


@rule("__setitem__")
def setitem(call: Call) -> Any:
    x, key, value = call.args
    level = call.level
    if not is_at(x, level):
        raise RuntimeError(
            "vmap: x[...] = y would write a different value for each element of the batch into a "
            "tensor that vmap does not map over; make x with zeros_like() or new_zeros() of a "
            "mapped tensor, or use genesis.where"
        )
    if isinstance(key, Tensor) and key.dtype == _C.bool and is_at(key, level):
        mask = key.reshape(*key.shape, *(1,) * (x.ndim - key.ndim))
        if isinstance(value, Tensor) and value.ndim > 0 and value.numel() > 1:
            refuse("__getitem__", "only one value can be assigned; use genesis.where(mask, y, x)")
        new = value.reshape(()) if isinstance(value, Tensor) else value
        x.copy_(_C.where(mask, new, x))
        return x
    basic, places = _split(key, x.ndim, level)
    index = (slice(None), *basic)
    target = x._value[index]
    if not places:
        if isinstance(value, Tensor):
            inside = batch_of(value, level)
            while inside.ndim > target.ndim and inside.shape[1] == 1:
                inside = inside.squeeze(1)
            missing = target.ndim - inside.ndim
            value = inside.reshape(inside.shape[0], *(1,) * missing, *inside.shape[1:])
            target.copy_(value)
        else:
            target.fill_(value)
        return x
    where, rank, to = _advanced(x, places, level)
    if isinstance(value, Tensor):
        # places are first in the batch, so a value with dimensions before them is moved
        shape = target.select(0, 0)[
            tuple(
                slice(None) if p is None else (p._value[0] if is_at(p, level) else p)
                for p in places
            )
        ].shape
        inside = batch_of(value, level)
        inside = inside.reshape(
            level.size, *(1,) * (len(shape) + 1 - inside.ndim), *inside.shape[1:]
        ).expand(level.size, *shape)
        if to and rank:
            inside = inside.movedim(list(range(to + 1, to + rank + 1)), list(range(1, rank + 1)))
        value = inside
    target[where] = value
    return x


@rule("index_put", "index_put_")
def index_put(call: Call) -> Any:
    bound = call.bind()
    x, indices, values = bound["input"], bound["indices"], bound["values"]
    level = call.level
    own = _own(call, x)
    places: list[Any] = []
    for item in indices:
        places += [None] if item is None else _integers(item, level)
    if any(p is None for p in places) and values.ndim > 0:
        return looped(call)
    where, rank, to = _advanced(x, places, level)
    if to:
        return looped(call)
    inside = batch_of(values, level)
    full = rank + x.ndim - len([p for p in places if p is not None])
    inside = inside.reshape(level.size, *(1,) * (full + 1 - inside.ndim), *inside.shape[1:])
    key = [None if isinstance(w, slice) else w for w in where]
    return call.result(call.op.func(own, key, inside, bound.get("accumulate", False)))
