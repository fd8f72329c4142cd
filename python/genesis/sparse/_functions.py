"""Conversions and arithmetic of sparse tensors."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import layout, sparse_coo, sparse_csc, sparse_csr, strided
from genesis.sparse._registry import define, missing
from genesis.sparse._tensor import (
    SparseTensor,
    add_gradients,
    bare,
    coalesce,
    construct,
    dense,
    gather_at,
    values_of,
    with_values,
)

# ---- queries -----------------------------------------------------------------------------------

define("dim", "ndimension")(lambda x: x.ndim)
define("numel", "nelement")(lambda x: math.prod(x.shape))
define("is_floating_point")(lambda x: x.dtype.is_floating_point)
define("is_complex")(lambda x: x.dtype.is_complex)
define("is_signed")(lambda x: x.dtype.is_signed)
define("element_size")(lambda x: x.dtype.itemsize)
define("get_device")(lambda x: -1)
define("is_same_size")(lambda x, y: tuple(x.shape) == tuple(y.shape))
define("is_inference", "is_pinned", "is_shared", "is_conj", "is_neg")(lambda x: False)
define("is_contiguous")(lambda x, memory_format=None: True)
define("is_tensor")(lambda x: True)
define("__len__")(lambda x: x.shape[0])


# ---- the graph ---------------------------------------------------------------------------------


@define("detach")
def detach(x: SparseTensor) -> SparseTensor:
    return bare(x._index, x._stored, tuple(x.shape), x._layout, x._coalesced)


@define("clone", "contiguous")
def clone(x: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    return with_values(x, values_of(x).clone())


@define("zero_")
def zero_(x: SparseTensor) -> SparseTensor:
    x._index = x._index[:, :0]
    x._stored = x._stored[:0]
    x._coalesced = True
    return x


@define("copy_")
def copy_(x: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    if not isinstance(x, SparseTensor):
        return x.copy_(dense(other) if isinstance(other, SparseTensor) else other)
    if not isinstance(other, SparseTensor) or tuple(other.shape) != tuple(x.shape):
        kind = "sparse" if isinstance(other, SparseTensor) else "dense"
        raise RuntimeError(
            f"copy_: expected a sparse tensor of shape {tuple(x.shape)}, got a {kind} tensor of "
            f"shape {tuple(other.shape)}; convert x with to_dense(), or the other with to_sparse()"
        )
    if _C.is_grad_enabled() and (x.requires_grad or other.requires_grad):
        raise RuntimeError(
            "copy_: sparse tensors that require grad cannot be modified in place; use the "
            "out-of-place operation, or no_grad()"
        )
    source: SparseTensor = to_layout(detach(other), x._layout)
    x._index, x._stored = source._index.clone(), source._stored.to(x.dtype, copy=True)
    x._coalesced = source._coalesced
    return x


@define("zeros_like", "empty_like")
def zeros_like(x: SparseTensor, *, dtype: Any = None, **_: Any) -> SparseTensor:
    empty = x._stored[:0].to(dtype or x.dtype)
    return bare(x._index[:, :0], empty, tuple(x.shape), x._layout, True)


# ---- conversions -------------------------------------------------------------------------------


@define("to_dense")
def to_dense(x: SparseTensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The dense equivalent of a sparse tensor."""
    result = dense(x)
    return result if dtype is None else result.to(dtype)


@define("to")
def to(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    values = values_of(x)
    moved = values.to(*args, **kwargs)
    return x if moved is values else with_values(x, moved)


def _converts(name: str) -> Callable[[SparseTensor], SparseTensor]:
    return lambda x: with_values(x, getattr(values_of(x), name)())


for _name in (
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
):
    define(_name)(_converts(_name))
define("cpu")(lambda x: x)


@define("numpy")
def numpy(x: SparseTensor, **_: Any) -> Any:
    raise TypeError(
        "numpy: a sparse tensor cannot be converted to an array; use x.to_dense().numpy()"
    )


define("coalesce")(coalesce)


def to_layout(x: SparseTensor, wanted: layout | None) -> Any:
    """The tensor in another layout."""
    wanted = sparse_coo if wanted is None else wanted
    if wanted is x._layout:
        return x
    if wanted is strided:
        return dense(x)
    if wanted not in (sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            f"to_sparse: layout {wanted} is not supported; use sparse_coo, sparse_csr or sparse_csc"
        )
    once = coalesce(x)
    if wanted is not sparse_coo and (once.sparse_dim() != 2 or once.dense_dim() != 0):
        raise RuntimeError(
            f"to_sparse: layout {wanted} requires 2 sparse dimensions and no dense dimensions, got "
            f"{once.sparse_dim()} and {once.dense_dim()}, with shape {tuple(x.shape)}"
        )
    index, values = once._index, values_of(once)
    if sparse_csc in (wanted, x._layout):  # from row-major to column-major order, or back
        d = 1 if wanted is sparse_csc else 0
        order = (index[d] * once.shape[1 - d] + index[1 - d]).argsort(stable=True)
        index, values = index[:, order], values[order]
    return construct(index, values, tuple(x.shape), wanted, True)


def from_dense(x: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """A sparse tensor with the nonzero elements (or slices) of a dense tensor."""
    count = x.ndim if sparse_dim is None else sparse_dim
    if not isinstance(count, int):
        raise TypeError(f"to_sparse: sparse_dim must be an int, got {type(count).__name__}")
    if not 0 <= count <= x.ndim or (count == 0 and x.ndim > 0):
        raise _C.ShapeError(
            f"to_sparse: sparse_dim must be from 1 to {x.ndim} (the dimensions), got {count}"
        )
    with _C.no_grad():
        filled = x.detach() != 0
        for _ in range(x.ndim - count):
            filled = filled.any(-1)
        index = filled.reshape(1).nonzero()[:, :0].T if count == 0 else filled.nonzero().T
    index = index.contiguous()
    values = x.reshape(1)[: index.shape[1]] if count == 0 else x[tuple(index)]
    return construct(index, values, tuple(x.shape), sparse_coo, True)


@define("to_sparse")
def to_sparse(
    x: Tensor, sparse_dim: int | None = None, *, layout: layout | None = None, **_: Any
) -> Any:
    """A sparse tensor with the nonzero elements of ``x``."""
    if not isinstance(x, SparseTensor):
        x = from_dense(x, sparse_dim)
    return to_layout(x, layout)


define("to_sparse_coo")(lambda x: to_layout(x, sparse_coo))
define("to_sparse_csr")(lambda x, dense_dim=None: to_layout(x, sparse_csr))
define("to_sparse_csc")(lambda x, dense_dim=None: to_layout(x, sparse_csc))


# ---- arithmetic --------------------------------------------------------------------------------


def _is_number(x: Any) -> bool:
    return isinstance(x, numbers.Number) or (
        isinstance(x, Tensor) and not isinstance(x, SparseTensor) and x.ndim == 0
    )


def require_same_shape(op: str, x: Tensor, y: Tensor) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise _C.ShapeError(
            f"{op}: sparse tensors are not broadcast and must have equal shapes, got "
            f"{tuple(x.shape)} and {tuple(y.shape)}; use x.to_dense()"
        )


@define("add", "__add__", "__radd__")
def add(x: Any, y: Any, *, alpha: float = 1) -> Any:
    if _is_number(x) or _is_number(y):
        raise missing("add of a number")
    require_same_shape("add", x, y)
    scaled = y if alpha == 1 else y * alpha
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        kind = x._layout
        parts = [to_layout(t, sparse_coo) for t in (x, scaled)]
        if parts[0].sparse_dim() != parts[1].sparse_dim():
            return from_dense(dense(parts[0]) + dense(parts[1]))
        values = [values_of(t) for t in parts]
        dtype = _C.promote_types(values[0].dtype, values[1].dtype)
        joined = construct(
            _C.cat([t._index for t in parts], 1),
            _C.cat([v.to(dtype) for v in values]),
            tuple(x.shape),
        )
        return to_layout(coalesce(joined), kind)
    return add_gradients(x, scaled)


@define("add_", "__iadd__")
def add_(x: Tensor, y: Tensor, *, alpha: float = 1) -> Tensor:
    if isinstance(x, SparseTensor):
        changed: SparseTensor = copy_(x, add(x, y, alpha=alpha))
        return changed
    if not isinstance(y, SparseTensor):
        raise missing("add_")
    require_same_shape("add_", x, y)
    once = y if y._layout is sparse_coo else to_layout(y, sparse_coo)
    if once.sparse_dim() == 1:
        return x.index_add_(0, once._index[0], values_of(once).to(x.dtype), alpha=alpha)
    return x.add_(dense(once), alpha=alpha)


@define("sub", "subtract", "__sub__")
def sub(x: Any, y: Any, *, alpha: float = 1) -> Any:
    if _is_number(x) or _is_number(y):
        raise missing("sub with a number")
    return add(x, y, alpha=-alpha)


@define("__rsub__")
def rsub(x: Any, y: Any) -> Any:
    return add(y, x, alpha=-1)


@define("neg", "negative", "__neg__")
def neg(x: SparseTensor) -> SparseTensor:
    return with_values(x, -values_of(x))


@define("mul", "multiply", "__mul__", "__rmul__")
def multiply(x: Any, y: Any) -> Any:
    if not isinstance(x, SparseTensor):
        x, y = y, x
    if _is_number(y):
        return with_values(x, values_of(x) * y)
    if isinstance(y, SparseTensor):
        require_same_shape("mul", x, y)
        y = to_layout(y, sparse_coo)
    else:
        if _C.broadcast_shapes(x.shape, y.shape) != x.shape:
            require_same_shape("mul", x, y)
        y = y.expand(tuple(x.shape))
    once = coalesce(x)
    return with_values(once, values_of(once) * gather_at(y, once._index, tuple(x.shape)))


@define("mul_", "__imul__")
def mul_(x: Any, y: Any) -> Any:
    return copy_(x, multiply(x, y))


@define("div", "divide", "true_divide", "__truediv__")
def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if not isinstance(x, SparseTensor) or not _is_number(y):
        raise missing("div by a tensor")
    return with_values(x, values_of(x).div(y, rounding_mode=rounding_mode))


@define("div_", "__itruediv__")
def div_(x: Any, y: Any) -> Any:
    return copy_(x, div(x, y))


def _of_values(name: str) -> Callable[..., SparseTensor]:
    """A function with f(0) = 0, applied to the values."""

    def apply(x: SparseTensor) -> SparseTensor:
        once = coalesce(x)
        return with_values(once, getattr(values_of(once), name)())

    return apply


def _in_place(function: Callable[..., SparseTensor]) -> Callable[..., SparseTensor]:
    return lambda x: copy_(x, function(x))


for _name in (
    "abs", "absolute", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh",
    "ceil", "conj", "conj_physical", "deg2rad", "erf", "erfinv", "expm1", "fix", "floor", "frac",
    "isinf", "isnan", "isneginf", "isposinf", "log1p", "positive", "rad2deg", "relu", "round",
    "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
):  # fmt: skip
    define(_name)(_of_values(_name))
    if hasattr(Tensor, _name + "_"):
        define(_name + "_")(_in_place(_of_values(_name)))
define("neg_", "negative_")(_in_place(neg))
define("any")(lambda x: values_of(coalesce(x)).any())


@define("pow", "__pow__")
def pow(x: SparseTensor, exponent: float) -> SparseTensor:
    if not _is_number(exponent) or exponent <= 0:
        raise missing("pow to an exponent that is not a positive number")
    once = coalesce(x)
    return with_values(once, values_of(once) ** exponent)


@define("norm")
def norm(
    x: SparseTensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    if dim is not None or keepdim:
        raise missing("norm along a dimension")
    if p == "nuc":
        raise missing("the nuclear norm")
    return values_of(coalesce(x)).norm(2 if p in ("fro", None) else p, dtype=dtype)


define("linalg_vector_norm")(
    lambda x, ord=2, dim=None, keepdim=False, *, dtype=None: norm(x, ord, dim, keepdim, dtype)
)
