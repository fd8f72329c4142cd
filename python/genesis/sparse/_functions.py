"""What can be done with sparse tensors. Everything else raises and suggests ``to_dense()``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import layout, sparse_coo, sparse_csc, sparse_csr, strided
from genesis.overrides import DisableTorchFunctionSubclass
from genesis.sparse._tensor import (
    SparseTensor,
    add_gradients,
    bare,
    coalesce,
    construct,
    dense,
    made_like,
    unraveled,
    values_of,
)

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _define(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The function, for sparse arguments, of these names."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return keep


def _missing(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name}: is not defined for sparse tensors; convert them first, with x.to_dense()"
    )


# What a sparse tensor has like any other: nothing of it looks at elements.
_INHERITED = {
    "_base", "_is_parameter", "_version", "_writer", "as_subclass", "backward", "creator", "device",
    "dtype", "grad", "grad_fn", "hooks", "inputs", "is_cpu", "is_cuda", "is_leaf", "is_meta",
    "itemsize", "ndim", "output_nr", "register_hook", "register_post_accumulate_grad_hook",
    "requires_grad", "requires_grad_", "retain_grad", "retains_grad", "shape", "size",
}  # fmt: skip


_ALIASES = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's names of parameters


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", repr(func))
    if name in ("__get__", "__set__", "__delete__"):  # of a property
        name = func.__self__.__name__
    if name in _INHERITED:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    found = _FUNCTIONS.get(name)
    if found is None:
        raise _missing(name)
    kwargs = {_ALIASES.get(key, key): value for key, value in kwargs.items()}
    try:
        return found(*args, **kwargs)
    except TypeError as error:
        # Raised by the call itself: there is no such argument.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            raise _missing(f"{name} with these arguments") from None
        raise


def attribute(x: SparseTensor, name: str) -> Any:
    if name == "data":
        return detach(x)
    if name == "real":
        return x
    if name in ("T", "H", "mT", "mH") and x.ndim == 2:
        return transpose(x, 0, 1)
    raise _missing(name)


# ---- queries -----------------------------------------------------------------------------------

_define("dim", "ndimension")(lambda x: x.ndim)
_define("numel", "nelement")(lambda x: math.prod(x.shape))
_define("is_floating_point")(lambda x: x.dtype.is_floating_point)
_define("is_complex")(lambda x: x.dtype.is_complex)
_define("is_signed")(lambda x: x.dtype.is_signed)
_define("element_size")(lambda x: x.dtype.itemsize)
_define("get_device")(lambda x: -1)
_define("is_same_size")(lambda x, y: tuple(x.shape) == tuple(y.shape))
_define("is_inference", "is_pinned", "is_shared", "is_conj", "is_neg")(lambda x: False)
_define("is_contiguous")(lambda x, memory_format=None: True)
_define("is_tensor")(lambda x: True)
_define("__len__")(lambda x: x.shape[0])


# ---- the graph ---------------------------------------------------------------------------------


@_define("detach")
def detach(x: SparseTensor) -> SparseTensor:
    return bare(x._index, x._stored, tuple(x.shape), x._layout, x._coalesced)


@_define("clone", "contiguous")
def clone(x: SparseTensor, *, memory_format: Any = None) -> SparseTensor:
    return made_like(x, values_of(x).clone())


@_define("zero_")
def zero_(x: SparseTensor) -> SparseTensor:
    x._index = x._index[:, :0]
    x._stored = x._stored[:0]
    x._coalesced = True
    return x


@_define("copy_")
def copy_(x: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    if not isinstance(x, SparseTensor):
        return x.copy_(dense(other) if isinstance(other, SparseTensor) else other)
    if not isinstance(other, SparseTensor) or tuple(other.shape) != tuple(x.shape):
        raise RuntimeError(
            f"copy_: expected a sparse tensor of shape {tuple(x.shape)}, got "
            f"{'a sparse' if isinstance(other, SparseTensor) else 'a dense'} one of shape "
            f"{tuple(other.shape)}; convert x with to_dense(), or the other with to_sparse()"
        )
    source: SparseTensor = to_layout(detach(other), x._layout)
    x._index, x._stored = source._index.clone(), source._stored.to(x.dtype, copy=True)
    x._coalesced = source._coalesced
    return x


@_define("zeros_like", "empty_like")
def zeros_like(x: SparseTensor, *, dtype: Any = None, **_: Any) -> SparseTensor:
    empty = x._stored[:0].to(dtype or x.dtype)
    return bare(x._index[:, :0], empty, tuple(x.shape), x._layout, True)


# ---- conversions -------------------------------------------------------------------------------


@_define("to_dense")
def to_dense(x: SparseTensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The dense equivalent of a sparse tensor."""
    result = dense(x)
    return result if dtype is None else result.to(dtype)


@_define("to")
def to(x: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    values = values_of(x)
    moved = values.to(*args, **kwargs)
    return x if moved is values else made_like(x, moved)


def _converts(name: str) -> Callable[[SparseTensor], SparseTensor]:
    return lambda x: made_like(x, getattr(values_of(x), name)())


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
    _define(_name)(_converts(_name))
_define("cpu")(lambda x: x)
_define("coalesce")(coalesce)


def to_layout(x: SparseTensor, wanted: layout | None) -> Any:
    """The same tensor in another layout."""
    wanted = sparse_coo if wanted is None else wanted
    if wanted is x._layout:
        return x
    if wanted is strided:
        return dense(x)
    if wanted not in (sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            f"to_sparse: layout {wanted} is not supported; use sparse_coo, sparse_csr or sparse_csc"
        )
    once = coalesce(x) if x._layout is sparse_coo else x
    if wanted is not sparse_coo and (once.sparse_dim() != 2 or once.dense_dim() != 0):
        raise RuntimeError(
            f"to_sparse: layout {wanted} needs a matrix of numbers, got shape {tuple(x.shape)} "
            f"with {x.sparse_dim()} sparse dimensions"
        )
    index, values = once._index, values_of(once)
    if sparse_csc in (wanted, x._layout):  # sorted by columns, or by rows again
        d = 1 if wanted is sparse_csc else 0
        order = (index[d] * once.shape[1 - d] + index[1 - d]).argsort(stable=True)
        index, values = index[:, order], values[order]
    return construct(index, values, tuple(x.shape), wanted, True)


def from_dense(x: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """The elements (or slices) of a dense tensor that are not zero."""
    count = x.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= x.ndim or (count == 0 and x.ndim > 0):
        raise ValueError(f"to_sparse: sparse_dim must be in 1..{x.ndim}, got {sparse_dim}")
    with _C.no_grad():
        filled = x.detach() != 0
        for _ in range(x.ndim - count):
            filled = filled.any(-1)
        index = filled.reshape(1).nonzero()[:, :0].T if count == 0 else filled.nonzero().T
    index = index.contiguous()
    values = x.reshape(1)[: index.shape[1]] if count == 0 else x[tuple(index)]
    return construct(index, values, tuple(x.shape), sparse_coo, True)


@_define("to_sparse")
def to_sparse(
    x: Tensor, sparse_dim: int | None = None, *, layout: layout | None = None, **_: Any
) -> Any:
    """A sparse tensor with the elements of a dense one that are not zero."""
    if not isinstance(x, SparseTensor):
        x = from_dense(x, sparse_dim)
    return to_layout(x, layout)


_define("to_sparse_coo")(lambda x: to_layout(x, sparse_coo))
_define("to_sparse_csr")(lambda x, dense_dim=None: to_layout(x, sparse_csr))
_define("to_sparse_csc")(lambda x, dense_dim=None: to_layout(x, sparse_csc))


# ---- arithmetic --------------------------------------------------------------------------------


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) or (
        isinstance(x, Tensor) and not isinstance(x, SparseTensor) and x.ndim == 0
    )


def _same_shape(op: str, x: Tensor, y: Tensor) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise ValueError(
            f"{op}: sparse tensors do not broadcast: shapes {tuple(x.shape)} and {tuple(y.shape)}"
        )


@_define("add", "__add__", "__radd__")
def add(x: Any, y: Any, *, alpha: float = 1) -> Any:
    if _is_number(x) or _is_number(y):
        raise _missing("add of a number")
    _same_shape("add", x, y)
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


@_define("add_", "__iadd__")
def add_(x: Tensor, y: Tensor, *, alpha: float = 1) -> Tensor:
    if isinstance(x, SparseTensor):
        changed: SparseTensor = copy_(x, add(x, y, alpha=alpha))
        return changed
    if not isinstance(y, SparseTensor):
        raise _missing("add_")
    _same_shape("add_", x, y)
    once = y if y._layout is sparse_coo else to_layout(y, sparse_coo)
    if once.sparse_dim() == 1:
        return x.index_add_(0, once._index[0], values_of(once).to(x.dtype), alpha=alpha)
    return x.add_(dense(once), alpha=alpha)


@_define("sub", "subtract", "__sub__")
def sub(x: Any, y: Any, *, alpha: float = 1) -> Any:
    if _is_number(x) or _is_number(y):
        raise _missing("sub with a number")
    return add(x, y, alpha=-alpha)


@_define("__rsub__")
def rsub(x: Any, y: Any) -> Any:
    return add(y, x, alpha=-1)


@_define("neg", "negative", "__neg__")
def neg(x: SparseTensor) -> SparseTensor:
    return made_like(x, -values_of(x))


@_define("mul", "multiply", "__mul__", "__rmul__")
def multiply(x: Any, y: Any) -> Any:
    if not isinstance(x, SparseTensor):
        x, y = y, x
    if _is_number(y):
        return made_like(x, values_of(x) * y)
    _same_shape("mul", x, y)
    once = coalesce(x)
    if isinstance(y, SparseTensor):
        other = coalesce(to_layout(y, sparse_coo))
        from genesis.sparse._tensor import at_places

        return made_like(once, values_of(once) * at_places(other, once._index, tuple(x.shape)))
    return made_like(once, values_of(once) * y[tuple(once._index)])


@_define("mul_", "__imul__")
def mul_(x: Any, y: Any) -> Any:
    return copy_(x, multiply(x, y))


@_define("div", "divide", "true_divide", "__truediv__")
def div(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if not isinstance(x, SparseTensor) or not _is_number(y):
        raise _missing("div by a tensor")
    return made_like(x, values_of(x).div(y, rounding_mode=rounding_mode))


@_define("div_", "__itruediv__")
def div_(x: Any, y: Any) -> Any:
    return copy_(x, div(x, y))


def _of_values(name: str) -> Callable[..., SparseTensor]:
    """A function with f(0) = 0, applied to the values."""

    def apply(x: SparseTensor) -> SparseTensor:
        once = coalesce(x)
        return made_like(once, getattr(values_of(once), name)())

    return apply


for _name in (
    "abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor",
    "frac", "log1p", "rad2deg", "relu", "round", "sgn", "sign", "sin", "sinh", "sqrt", "square",
    "tan", "tanh", "trunc",
):  # fmt: skip
    _define(_name)(_of_values(_name))


@_define("pow", "__pow__")
def pow(x: SparseTensor, exponent: float) -> SparseTensor:
    if not _is_number(exponent) or exponent <= 0:
        raise _missing("pow to an exponent that is not a positive number")
    once = coalesce(x)
    return made_like(once, values_of(once) ** exponent)


@_define("norm")
def norm(
    x: SparseTensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    if dim is not None or keepdim:
        raise _missing("norm along a dimension")
    if p == "nuc":
        raise _missing("the nuclear norm")
    return values_of(coalesce(x)).norm(2 if p in ("fro", None) else p, dtype=dtype)


_define("linalg_vector_norm")(
    lambda x, ord=2, dim=None, keepdim=False, *, dtype=None: norm(x, ord, dim, keepdim, dtype)
)


# ---- shapes ------------------------------------------------------------------------------------


@_define("transpose", "swapaxes", "swapdims")
def transpose(x: SparseTensor, dim0: Any = None, dim1: Any = None) -> SparseTensor:
    if dim0 is None and dim1 is None and x.ndim == 2:
        dim0, dim1 = 0, 1
    if not isinstance(dim0, int) or not isinstance(dim1, int):
        raise _missing("transpose of all dimensions")
    a, b = dim0 % x.ndim, dim1 % x.ndim
    sparse = x.sparse_dim()
    if max(a, b) >= sparse:
        raise _missing("transpose of a dense dimension")
    size = list(x.shape)
    size[a], size[b] = size[b], size[a]
    order = list(range(sparse))
    order[a], order[b] = order[b], order[a]
    kind = {sparse_csr: sparse_csc, sparse_csc: sparse_csr}.get(x._layout, sparse_coo)
    once = x._coalesced if kind is not sparse_coo else a == b and x._coalesced
    return construct(x._index[order], values_of(x), size, kind, once)


@_define("reshape", "view", "expand", "broadcast_to")
def reshape(x: SparseTensor, *shape: Any) -> SparseTensor:
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if tuple(sizes) != tuple(x.shape):
        raise _missing("reshape to another shape")
    return x


@_define("t", "adjoint")
def t(x: SparseTensor) -> SparseTensor:
    if x.ndim != 2:
        raise ValueError(f"t: expected a matrix, got shape {tuple(x.shape)}")
    turned: SparseTensor = transpose(x, 0, 1)
    return turned


@_define("cat", "concat", "concatenate")
def cat(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:
    if not all(isinstance(x, SparseTensor) and x._layout is sparse_coo for x in tensors):
        raise _missing("cat of sparse and dense tensors")
    first = tensors[0]
    d = dim % first.ndim
    if d >= first.sparse_dim():
        raise _missing("cat along a dense dimension")
    indices, before = [], 0
    for x in tensors:
        if x.ndim != first.ndim or any(
            m != n for k, (m, n) in enumerate(zip(x.shape, first.shape, strict=True)) if k != d
        ):
            raise ValueError(
                f"cat: shapes {tuple(first.shape)} and {tuple(x.shape)} differ outside of dim {d}"
            )
        shift = _C.zeros(x.sparse_dim(), 1, dtype=_C.int64)
        shift[d] = before
        indices.append(x._index + shift)
        before += x.shape[d]
    size = list(first.shape)
    size[d] = before
    return construct(_C.cat(indices, 1), _C.cat([values_of(x) for x in tensors]), size)


@_define("sum")
def _sum(x: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if keepdim:
        raise _missing("sum with keepdim")
    return sum(x, dim, dtype)


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all elements (a dense number), or along dimensions.

    It is sparse if a sparse dimension is left.
    """
    x = input
    values = values_of(x)
    if dim is None or dim == ():
        return values.sum(dtype=dtype)
    dims = {d % x.ndim for d in ((dim,) if isinstance(dim, int) else dim)}
    sparse = x.sparse_dim()
    behind = [d - sparse + 1 for d in sorted(dims) if d >= sparse]
    if behind:
        values = values.sum(behind, dtype=dtype)
    elif dtype is not None:
        values = values.to(dtype)
    left = [d for d in range(sparse) if d not in dims]
    size = [n for d, n in enumerate(x.shape) if d not in dims]
    if not left:
        return values.sum(0)
    if len(left) == sparse:
        return construct(x._index, values, size, x._layout, x._coalesced)
    return coalesce(construct(x._index[left], values, size))


# ---- products ----------------------------------------------------------------------------------


def _matrix(op: str, x: Any, name: str) -> None:
    if not isinstance(x, Tensor) or x.ndim != 2:
        raise ValueError(f"{op}: {name} must be a matrix, got shape {tuple(x.shape)}")
    if isinstance(x, SparseTensor) and x.sparse_dim() != 2:
        raise _missing(f"{op} of a matrix with {x.sparse_dim()} sparse dimensions")


def _sparse_by_dense(x: SparseTensor, y: Tensor) -> Tensor:
    rows, cols = x._index
    terms = values_of(x).unsqueeze(1) * y.index_select(0, cols)
    return _C.zeros((x.shape[0], y.shape[1]), dtype=terms.dtype).index_add(0, rows, terms)


def _sparse_by_sparse(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """Every stored element of x with all stored elements of that row of y."""
    other = coalesce(to_layout(y, sparse_coo))
    starts = _C.searchsorted(other._index[0].contiguous(), _C.arange(y.shape[0] + 1))
    rows, cols = x._index
    counts = (starts[1:] - starts[:-1])[cols]
    left = _C.arange(rows.numel()).repeat_interleave(counts)
    ends = counts.cumsum(0)
    within = _C.arange(left.numel()) - (ends - counts)[left]
    right = starts[cols][left] + within
    index = _C.stack([rows[left], other._index[1][right]])
    values = values_of(x)[left] * values_of(other)[right]
    product = coalesce(construct(index, values, (x.shape[0], y.shape[1])))
    result: SparseTensor = to_layout(product, x._layout)
    return result


@_define("mm", "spmm", "dsmm", "hspmm", "hsmm", "smm", "_sparse_mm")
def mm(x: Tensor, y: Tensor, reduce: str = "sum") -> Any:
    """The product of two matrices, of which one at least is sparse; sparse if both are."""
    if reduce != "sum":
        raise _missing(f"mm with reduce={reduce!r}")
    _matrix("mm", x, "mat1")
    _matrix("mm", y, "mat2")
    if x.shape[1] != y.shape[0]:
        raise ValueError(
            f"mm: inner dimensions differ: {tuple(x.shape)} and {tuple(y.shape)}; expected "
            "mat1.shape[1] == mat2.shape[0]"
        )
    if x.dtype != y.dtype:
        raise TypeError(f"mm: mat1 is {x.dtype} but mat2 is {y.dtype}; convert one of them")
    if isinstance(x, SparseTensor):
        return _sparse_by_sparse(x, y) if isinstance(y, SparseTensor) else _sparse_by_dense(x, y)
    if not isinstance(y, SparseTensor):
        raise TypeError(
            "mm: mat1 or mat2 must be sparse; for two dense matrices use genesis.mm(), and "
            "to_dense() of what is added to their product"
        )
    return _sparse_by_dense(transpose(y), x.T).T


@_define("mv")
def mv(x: SparseTensor, y: Tensor) -> Tensor:
    if not isinstance(x, SparseTensor) or y.ndim != 1:
        raise _missing("mv with a sparse vector")
    result: Tensor = mm(x, y.unsqueeze(1)).squeeze(1)
    return result


@_define("matmul", "__matmul__", "linalg_matmul")
def matmul(x: Tensor, y: Tensor) -> Any:
    if y.ndim == 1 and not isinstance(y, SparseTensor):
        return mv(x, y)
    if x.ndim == 1 and not isinstance(x, SparseTensor):
        return mm(x.unsqueeze(0), y).squeeze(0)
    return mm(x, y)


@_define("__rmatmul__")
def rmatmul(x: Tensor, y: Tensor) -> Any:
    return matmul(y, x)


@_define("addmm", "sspaddmm", "saddmm")
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta * mat + alpha * (mat1 @ mat2), where mat1 is sparse."""
    product = mm(mat1, mat2)
    product = product * alpha if alpha != 1 else product
    if isinstance(product, SparseTensor) or isinstance(mat, SparseTensor):
        return add(product, multiply(mat, beta) if isinstance(mat, SparseTensor) else mat * beta)
    return mat * beta + product if beta != 0 else product


@_define("sparse_mask")
def sparse_mask(x: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements of x at the places of a sparse tensor."""
    from genesis.sparse._tensor import at_places

    if not isinstance(mask, SparseTensor):
        raise TypeError(
            f"sparse_mask: mask must be a sparse tensor, got {type(mask).__name__}; use "
            "mask.to_sparse()"
        )
    _same_shape("sparse_mask", x, mask)
    return made_like(mask, at_places(x, mask._index, tuple(mask.shape)))


# ---- normalisations ----------------------------------------------------------------------------


def _lines(x: SparseTensor, dim: int) -> tuple[Tensor, int]:
    """The line along `dim` that each stored element belongs to, and how many lines there are."""
    d = dim % x.ndim
    if d >= x.sparse_dim():
        raise _missing("softmax along a dense dimension")
    number = _C.zeros(x._nnz(), dtype=_C.int64)
    for k, row in enumerate(x._index):
        if k != d:
            number = number * x.shape[k] + row
    lines, place = _C.unique(number, return_inverse=True)
    return place, lines.numel()


def _log_normalised(x: SparseTensor, dim: int, dtype: Any) -> tuple[SparseTensor, Tensor]:
    once = coalesce(x)
    values = values_of(once)
    values = values if dtype is None else values.to(dtype)
    place, count = _lines(once, dim)
    index = place.reshape(-1, *[1] * (values.ndim - 1)).expand(tuple(values.shape))
    shape = (count, *values.shape[1:])
    lowest = _C.full(shape, -math.inf, dtype=values.dtype)
    largest = lowest.scatter_reduce(0, index, values.detach(), "amax")
    shifted = values - largest.gather(0, index)
    total = _C.zeros(shape, dtype=values.dtype).scatter_add(0, index, shifted.exp())
    return once, shifted - total.log().gather(0, index)


@_define("log_softmax")
def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """log_softmax() over the stored elements; the others count as -inf."""
    once, logarithms = _log_normalised(input, dim, dtype)
    return made_like(once, logarithms)


@_define("softmax")
def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """softmax() over the stored elements; the others count as -inf."""
    once, logarithms = _log_normalised(input, dim, dtype)
    return made_like(once, logarithms.exp())


def unravel(numbers: Tensor, size: Sequence[int]) -> Tensor:
    return unraveled(numbers, size)
