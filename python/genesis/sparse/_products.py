"""Products of sparse matrices, and softmax."""

from __future__ import annotations

import math
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import sparse_coo
from genesis.sparse._functions import add, multiply, require_same_shape, to_layout
from genesis.sparse._registry import define, missing, wrapped
from genesis.sparse._shapes import ranges, t
from genesis.sparse._tensor import (
    SparseTensor,
    coalesce,
    construct,
    flat_index,
    gather_at,
    values_of,
    with_values,
)


def _matrix(op: str, x: Any, name: str) -> None:
    if not isinstance(x, Tensor) or x.ndim != 2:
        raise _C.ShapeError(f"{op}: {name} must be a matrix, got shape {tuple(x.shape)}")
    if isinstance(x, SparseTensor) and x.sparse_dim() != 2:
        raise missing(f"{op} of a matrix with {x.sparse_dim()} sparse dimensions")


def _sparse_by_dense(x: SparseTensor, y: Tensor) -> Tensor:
    rows, cols = x._index
    terms = values_of(x).unsqueeze(1) * y.index_select(0, cols)
    return _C.zeros((x.shape[0], y.shape[1]), dtype=terms.dtype).index_add(0, rows, terms)


def _sparse_by_sparse(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """Multiply every stored element x[i, k] by all stored elements of row k of y."""
    other = coalesce(to_layout(y, sparse_coo))
    starts = _C.searchsorted(other._index[0].contiguous(), _C.arange(y.shape[0] + 1))
    rows, cols = x._index
    right, left = ranges(starts[cols], starts.diff()[cols])
    index = _C.stack([rows[left], other._index[1][right]])
    values = values_of(x)[left] * values_of(other)[right]
    product = coalesce(construct(index, values, (x.shape[0], y.shape[1])))
    result: SparseTensor = to_layout(product, x._layout)
    return result


@define("mm", "spmm", "dsmm", "hspmm", "hsmm", "smm", "_sparse_mm")
def mm(x: Tensor, y: Tensor, reduce: str = "sum") -> Any:
    """The product of two matrices, at least one of them sparse. It is sparse if both are."""
    if reduce != "sum":
        raise missing(f"mm with reduce={reduce!r}")
    _matrix("mm", x, "mat1")
    _matrix("mm", y, "mat2")
    if x.shape[1] != y.shape[0]:
        raise _C.ShapeError(
            f"mm: inner dimensions differ: {tuple(x.shape)} and {tuple(y.shape)}; expected "
            "mat1.shape[1] == mat2.shape[0]"
        )
    if x.dtype != y.dtype:
        raise _C.DTypeError(f"mm: mat1 is {x.dtype} but mat2 is {y.dtype}; convert one of them")
    if isinstance(x, SparseTensor):
        return _sparse_by_sparse(x, y) if isinstance(y, SparseTensor) else _sparse_by_dense(x, y)
    if not isinstance(y, SparseTensor):
        raise TypeError(
            "mm: mat1 or mat2 must be sparse; use genesis.mm() for dense matrices, and to_dense() "
            "for a sparse matrix that is added to their product"
        )
    return _sparse_by_dense(t(y), x.T).T


@define("mv")
def mv(x: SparseTensor, y: Tensor) -> Tensor:
    if not isinstance(x, SparseTensor) or y.ndim != 1:
        raise missing("mv with a sparse vector")
    result: Tensor = mm(x, y.unsqueeze(1)).squeeze(1)
    return result


@define("matmul", "__matmul__", "linalg_matmul")
def matmul(x: Tensor, y: Tensor) -> Any:
    if y.ndim == 1 and not isinstance(y, SparseTensor):
        return mv(x, y)
    if x.ndim == 1 and not isinstance(x, SparseTensor):
        return mm(x.unsqueeze(0), y).squeeze(0)
    return mm(x, y)


@define("__rmatmul__")
def rmatmul(x: Tensor, y: Tensor) -> Any:
    return matmul(y, x)


@define("addmm", "sspaddmm", "saddmm")
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta * mat + alpha * (mat1 @ mat2), where mat1 is sparse."""
    product = mm(mat1, mat2)
    product = product * alpha if alpha != 1 else product
    if isinstance(product, SparseTensor) or isinstance(mat, SparseTensor):
        return add(product, multiply(mat, beta) if isinstance(mat, SparseTensor) else mat * beta)
    return mat * beta + product if beta != 0 else product


@define("sparse_mask")
def sparse_mask(x: Tensor, mask: SparseTensor) -> SparseTensor:
    """A sparse tensor with the indices of ``mask`` and the elements of ``x`` there."""
    if not isinstance(mask, SparseTensor):
        raise TypeError(
            f"sparse_mask: mask must be a sparse tensor, got {type(mask).__name__}; use "
            "mask.to_sparse()"
        )
    require_same_shape("sparse_mask", x, mask)
    return with_values(mask, gather_at(x, mask._index, tuple(mask.shape)))


# ---- normalizations ----------------------------------------------------------------------------


def _slices(x: SparseTensor, d: int) -> tuple[Tensor, int]:
    """The slice along dimension d that each stored element belongs to, and the number of slices."""
    rest = [k for k in range(x.sparse_dim()) if k != d]
    flat = flat_index(x._index[rest], [x.shape[k] for k in rest])
    unique, inverse = _C.unique(flat, return_inverse=True)
    return inverse, unique.numel()


def _log_softmax(op: str, x: SparseTensor, dim: int, dtype: Any) -> tuple[SparseTensor, Tensor]:
    """x, coalesced, and the logarithms of the softmax of its values."""
    once = coalesce(x)
    values = values_of(once)
    values = values if dtype is None else values.to(dtype)
    d = wrapped(op, dim, x.ndim)
    if d >= x.sparse_dim():
        return once, values.log_softmax(d - x.sparse_dim() + 1)
    inverse, count = _slices(once, d)
    index = inverse.reshape(-1, *[1] * (values.ndim - 1)).expand(tuple(values.shape))
    shape = (count, *values.shape[1:])
    lowest = _C.full(shape, -math.inf, dtype=values.dtype)
    largest = lowest.scatter_reduce(0, index, values.detach(), "amax")
    shifted = values - largest.gather(0, index)
    total = _C.zeros(shape, dtype=values.dtype).scatter_add(0, index, shifted.exp())
    return once, shifted - total.log().gather(0, index)


@define("log_softmax")
def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """log_softmax() over the stored elements; all others count as -inf."""
    once, logarithms = _log_softmax("log_softmax", input, dim, dtype)
    return with_values(once, logarithms)


@define("softmax")
def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """softmax() over the stored elements; all others count as -inf."""
    once, logarithms = _log_softmax("softmax", input, dim, dtype)
    return with_values(once, logarithms.exp())
