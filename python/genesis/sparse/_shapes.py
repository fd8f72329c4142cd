"""Operations of sparse tensors that permute, select, join and sum dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import sparse_coo, sparse_csc, sparse_csr
from genesis.sparse._functions import detach, to_layout
from genesis.sparse._registry import define, missing, wrapped
from genesis.sparse._tensor import SparseTensor, coalesce, construct, values_of, with_values


@define("transpose", "swapaxes", "swapdims")
def transpose(x: SparseTensor, dim0: Any = None, dim1: Any = None) -> SparseTensor:
    if dim0 is None and dim1 is None and x.ndim == 2:
        dim0, dim1 = 0, 1
    if not isinstance(dim0, int) or not isinstance(dim1, int):
        raise missing("transpose of all dimensions")
    a, b = wrapped("transpose", dim0, x.ndim), wrapped("transpose", dim1, x.ndim)
    order = list(range(x.ndim))
    order[a], order[b] = order[b], order[a]
    return _permuted("transpose", x, order)


def _permuted(op: str, x: SparseTensor, order: list[int]) -> SparseTensor:
    sparse = x.sparse_dim()
    if max(order[:sparse], default=0) >= sparse > 0:
        raise missing(f"{op} of a sparse and a dense dimension")
    size, values = [x.shape[d] for d in order], values_of(x)
    if order == sorted(order):
        return construct(x._index, values, size, x._layout, x._coalesced)
    values = values.permute(0, *[d - sparse + 1 for d in order[sparse:]])
    kind = {sparse_csr: sparse_csc, sparse_csc: sparse_csr}.get(x._layout, sparse_coo)
    return construct(x._index[order[:sparse]], values, size, kind, kind is not sparse_coo)


@define("permute")
def permute(x: SparseTensor, *dims: Any) -> SparseTensor:
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [wrapped("permute", d, x.ndim) for d in order]
    if sorted(order) != list(range(x.ndim)):
        raise _C.ShapeError(
            f"permute: dims must contain each of the {x.ndim} dimensions once, got {tuple(dims)}"
        )
    return _permuted("permute", x, order)


@define("unsqueeze")
def unsqueeze(x: SparseTensor, dim: int) -> SparseTensor:
    if x._layout is not sparse_coo:
        raise missing(f"unsqueeze of layout {x._layout}")
    d, sparse = wrapped("unsqueeze", dim, x.ndim + 1), x.sparse_dim()
    size, index, values = [*x.shape[:d], 1, *x.shape[d:]], x._index, values_of(x)
    if d > sparse:
        return construct(index, values.unsqueeze(d - sparse + 1), size, sparse_coo, x._coalesced)
    zeros = _C.zeros(1, index.shape[1], dtype=_C.int64)
    return construct(_C.cat([index[:d], zeros, index[d:]]), values, size, sparse_coo, x._coalesced)


@define("select")
def select(x: SparseTensor, dim: int, index: int) -> Any:
    x = to_layout(x, sparse_coo)
    d, sparse = wrapped("select", dim, x.ndim), x.sparse_dim()
    i = _wrapped_index("select", index, x.shape[d])
    size, values = [n for k, n in enumerate(x.shape) if k != d], values_of(x)
    if d >= sparse:
        kept = values.select(d - sparse + 1, i)
        return construct(x._index, kept, size, sparse_coo, x._coalesced)
    position = (x._index[d] == i).nonzero().reshape(-1)
    values = values[position]
    if sparse == 1:
        return values.sum(0)
    rest = [k for k in range(sparse) if k != d]
    return construct(x._index[rest][:, position], values, size, sparse_coo, x._coalesced)


def _wrapped_index(op: str, index: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"{op}: index {index} is out of range for a dimension of size {size}")
    return index % size


@define("__getitem__")
def getitem(x: SparseTensor, key: Any) -> Any:
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, bool) or not isinstance(k, int):
            raise missing("indexing with anything but ints")
        x = x[k] if not isinstance(x, SparseTensor) else select(x, 0, k)
    return x


def ranges(starts: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """The integers from ``starts[i]`` to ``starts[i] + counts[i] - 1`` for each i, and these i."""
    owner = _C.arange(counts.numel()).repeat_interleave(counts)
    offset = _C.arange(owner.numel()) - (counts.cumsum(0) - counts)[owner]
    return starts[owner] + offset, owner


@define("index_select")
def index_select(x: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    if x._layout is not sparse_coo:
        raise missing(f"index_select of layout {x._layout}")
    d, sparse = wrapped("index_select", dim, x.ndim), x.sparse_dim()
    if index.ndim > 1 or index.is_floating_point() or index.dtype == _C.bool:
        raise IndexError(
            f"index_select: index must be a 1-d tensor of integers, got {index.dtype} of shape "
            f"{tuple(index.shape)}"
        )
    index = index.reshape(-1).long()
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < x.shape[d]:
        raise IndexError(
            f"index_select: index must be from 0 to {x.shape[d] - 1}, got values from "
            f"{int(index.min())} to {int(index.max())}"
        )
    size, values = list(x.shape), values_of(x)
    size[d] = index.numel()
    if d >= sparse:
        chosen = values.index_select(d - sparse + 1, index)
        return construct(x._index, chosen, size, sparse_coo, x._coalesced)
    order = x._index[d].argsort(stable=True)
    stored = x._index[d][order]
    starts = _C.searchsorted(stored, index)
    position, owner = ranges(starts, _C.searchsorted(stored, index, right=True) - starts)
    found = order[position]
    rows = [owner if k == d else row[found] for k, row in enumerate(x._index)]
    return construct(_C.stack(rows), values[found], size)


@define("reshape", "view", "expand", "broadcast_to")
def reshape(x: SparseTensor, *shape: Any) -> SparseTensor:
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if tuple(sizes) != tuple(x.shape):
        raise missing("reshape to another shape")
    return x


@define("t")
def t(x: SparseTensor) -> SparseTensor:
    if x.ndim != 2:
        raise _C.ShapeError(f"t: expected a matrix, got shape {tuple(x.shape)}")
    return _permuted("t", x, [1, 0])


@define("adjoint")
def adjoint(x: SparseTensor) -> SparseTensor:
    transposed: SparseTensor = t(x)
    if not x.dtype.is_complex:
        return transposed
    return with_values(transposed, values_of(transposed).conj())


PROPERTIES = {
    "T": t,
    "mT": t,
    "H": adjoint,
    "mH": adjoint,
    "data": detach,
    "real": lambda x: with_values(x, values_of(x).real) if x.dtype.is_complex else x,
}


@define("cat", "concat", "concatenate")
def cat(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:
    if not all(isinstance(x, SparseTensor) and x._layout is sparse_coo for x in tensors):
        raise missing("cat of sparse and dense tensors")
    first = tensors[0]
    d = wrapped("cat", dim, first.ndim)
    if d >= first.sparse_dim():
        raise missing("cat along a dense dimension")
    indices, before = [], 0
    for x in tensors:
        if x.ndim != first.ndim or any(
            m != n for k, (m, n) in enumerate(zip(x.shape, first.shape, strict=True)) if k != d
        ):
            raise _C.ShapeError(
                f"cat: tensors must have equal shapes except in dim {d}, got {tuple(first.shape)} "
                f"and {tuple(x.shape)}"
            )
        shift = _C.zeros(x.sparse_dim(), 1, dtype=_C.int64)
        shift[d] = before
        indices.append(x._index + shift)
        before += x.shape[d]
    size = list(first.shape)
    size[d] = before
    return construct(_C.cat(indices, 1), _C.cat([values_of(x) for x in tensors]), size)


@define("stack")
def stack(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    if not all(isinstance(x, SparseTensor) for x in tensors):
        raise missing("stack of sparse and dense tensors")
    result: SparseTensor = cat([unsqueeze(x, dim) for x in tensors], dim)
    return result


@define("sum")
def _sum(x: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    result = sum(x, dim, dtype)
    if keepdim:
        dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
        for d in sorted(wrapped("sum", d, x.ndim) for d in dims):
            result = result.unsqueeze(d)
    return result


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over the dimensions ``dim``, by default over all.

    The result is sparse if a sparse dimension remains, and dense otherwise.
    """
    x = input
    values = values_of(x)
    if dim is None or dim == ():
        return values.sum(dtype=dtype)
    dims = {wrapped("sum", d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
    sparse = x.sparse_dim()
    dense_dims = [d - sparse + 1 for d in sorted(dims) if d >= sparse]
    if dense_dims:
        values = values.sum(dense_dims, dtype=dtype)
    elif dtype is not None:
        values = values.to(dtype)
    left = [d for d in range(sparse) if d not in dims]
    size = [n for d, n in enumerate(x.shape) if d not in dims]
    if not left:
        return values.sum(0)
    if len(left) == sparse:
        return construct(x._index, values, size, x._layout, x._coalesced)
    return coalesce(construct(x._index[left], values, size))
