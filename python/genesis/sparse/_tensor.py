"""The class of sparse tensors, which store indices and values instead of every element.

A sparse tensor has the shape and the dtype of the equivalent dense tensor, and is part of the graph
like any other tensor. Two functions connect it with dense tensors: `_Construct` makes a sparse
tensor from its values, `_Values` returns its values. All other operations are
compositions of operations on indices and values, so they are differentiable to any order. The
gradient of a sparse tensor is sparse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import layout as Layout
from genesis._legacy import sparse_coo, sparse_csc, sparse_csr
from genesis.autograd.function import Function

_COMPRESSED = {sparse_csr: 0, sparse_csc: 1}  # the dimension whose indices are compressed


class SparseTensor(Tensor):
    """A tensor that stores only its nonzero elements and their indices."""

    _index: Tensor  # int64 (sparse dimensions, stored elements)
    _stored: Tensor  # (stored elements, dense dimensions...), outside the graph
    _layout: Layout
    _coalesced: bool

    def _copied(self, dtype: Any) -> Tensor:
        """What ``genesis.tensor(x)`` returns."""
        copied = self.detach().clone()
        return copied if dtype is None else copied.to(dtype)

    # ---- components

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self._layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        return self._layout is sparse_csr

    @property
    def layout(self) -> Layout:
        return self._layout

    def sparse_dim(self) -> int:
        """The number of sparse dimensions."""
        return self._index.shape[0]

    def dense_dim(self) -> int:
        """The number of dense dimensions."""
        return self._stored.ndim - 1

    def _nnz(self) -> int:
        """The number of stored elements."""
        return self._stored.shape[0]

    def is_coalesced(self) -> bool:
        """Whether the indices are sorted and unique."""
        self._require(sparse_coo, "is_coalesced")
        return self._coalesced

    def _require(self, wanted: Layout, what: str) -> None:
        if self._layout is not wanted:
            raise RuntimeError(
                f"{what}: expected a tensor of layout {wanted}, got {self._layout}; use "
                f"x.to_sparse(layout={wanted})"
            )

    def _indices(self) -> Tensor:
        """The indices, coalesced or not, of shape (sparse dimensions, stored elements)."""
        self._require(sparse_coo, "_indices")
        return self._index

    def _values(self) -> Tensor:
        """The values, coalesced or not, outside the graph."""
        return self._stored

    def indices(self) -> Tensor:
        """The indices of a coalesced tensor, of shape (sparse dimensions, stored elements)."""
        self._require_coalesced("indices")
        return self._index

    def values(self) -> Tensor:
        """The stored values. Gradients flow back to the sparse tensor."""
        if self._layout is sparse_coo:
            self._require_coalesced("values")
        return values_of(self)

    def _require_coalesced(self, what: str) -> None:
        self._require(sparse_coo, what)
        if not self._coalesced:
            raise RuntimeError(
                f"{what}: the tensor is not coalesced, so an index may appear several times; call "
                "x.coalesce() first"
            )

    def _compressed(self, what: str, wanted: Layout, compressed: bool) -> Tensor:
        self._require(wanted, what)
        d = _COMPRESSED[wanted]
        if not compressed:
            return self._index[1 - d]
        return _C.searchsorted(self._index[d].contiguous(), _C.arange(self.shape[d] + 1))

    def crow_indices(self) -> Tensor:
        """The position of the first stored element of each row (layout sparse_csr)."""
        return self._compressed("crow_indices", sparse_csr, True)

    def col_indices(self) -> Tensor:
        """The column of each stored element (layout sparse_csr)."""
        return self._compressed("col_indices", sparse_csr, False)

    def ccol_indices(self) -> Tensor:
        """The position of the first stored element of each column (layout sparse_csc)."""
        return self._compressed("ccol_indices", sparse_csc, True)

    def row_indices(self) -> Tensor:
        """The row of each stored element (layout sparse_csc)."""
        return self._compressed("row_indices", sparse_csc, False)

    # ---- Python

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self._layout is sparse_coo:
            parts = {"indices": self._index}
        elif self._layout is sparse_csr:
            parts = {"crow_indices": self.crow_indices(), "col_indices": self.col_indices()}
        else:
            parts = {"ccol_indices": self.ccol_indices(), "row_indices": self.row_indices()}
        parts["values"] = self._stored
        lines = []
        for name, value in parts.items():
            lines.append(f"{name}=" + repr(value).replace("\n", "\n" + " " * (len(name) + 8)))
        size = ", ".join(map(str, self.shape)) + ("," if self.ndim == 1 else "")
        last = f"size=({size}), nnz={self._nnz()}, layout={self._layout}"
        if self.grad_fn is not None:
            last += f", grad_fn={self.grad_fn}"
        elif self.requires_grad:
            last += ", requires_grad=True"
        return "tensor(" + ",\n       ".join([*lines, last]) + ")"

    __str__ = __repr__

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a sparse tensor cannot be converted to an array; use x.to_dense().numpy()")

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        parts = (self._index, self._stored, tuple(self.shape), self._layout, self._coalesced)
        return rebuild, (*parts, self.requires_grad)

    def __copy__(self) -> SparseTensor:
        return rebuild(*self.__reduce_ex__(2)[1])

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        if id(self) not in memo:
            if not self.is_leaf:
                raise RuntimeError(
                    "deepcopy: only leaf tensors can be deep-copied, and this sparse tensor is the "
                    "result of an operation; use x.detach() or x.clone()"
                )
            index, stored = self._index.clone(), self._stored.clone()
            copied = bare(index, stored, tuple(self.shape), self._layout, self._coalesced)
            memo[id(self)] = copied.requires_grad_(self.requires_grad)
        return memo[id(self)]  # type: ignore[no-any-return]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        from genesis.sparse._registry import dispatch

        return dispatch(func, args, kwargs or {})


for _name in ("T", "H", "mT", "mH", "data", "real"):

    def _property(self: SparseTensor, name: str = _name) -> Any:
        from genesis.sparse._shapes import PROPERTIES

        return PROPERTIES[name](self)

    setattr(SparseTensor, _name, property(_property))


def bare(
    index: Tensor, stored: Tensor, size: Sequence[int], kind: Layout, coalesced: bool
) -> SparseTensor:
    """A sparse tensor outside the graph, from valid parts.

    The memory of the tensor itself is a single zero, expanded to its shape.
    """
    zero = _C.zeros((), dtype=stored.dtype).expand(tuple(size))
    x = _C._make_subclass(SparseTensor, zero)
    x._index, x._stored, x._layout, x._coalesced = index, stored.detach(), kind, coalesced
    return x


def rebuild(
    index: Tensor,
    stored: Tensor,
    size: Sequence[int],
    kind: Layout,
    coalesced: bool,
    requires_grad: bool,
) -> SparseTensor:
    """The inverse of pickling."""
    x = bare(index, stored, size, kind, coalesced)
    return x.requires_grad_() if requires_grad else x


def with_values(x: SparseTensor, values: Tensor, coalesced: bool | None = None) -> SparseTensor:
    """A sparse tensor with the indices of ``x`` and other values."""
    kept = x._coalesced if coalesced is None else coalesced
    return construct(x._index, values, tuple(x.shape), x._layout, kept)


# ---- the graph ---------------------------------------------------------------------------------


class _Construct(Function):
    """From values to the sparse tensor that has them."""

    @staticmethod
    def forward(
        ctx: Any,
        values: Tensor,
        index: Tensor,
        size: tuple[int, ...],
        kind: Layout,
        coalesced: bool,
    ) -> SparseTensor:
        ctx.index, ctx.size = index, size
        return bare(index, values, size, kind, coalesced)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return gather_at(grad, ctx.index, ctx.size), None, None, None, None


class _Values(Function):
    """The values of a sparse tensor. The gradient is a coalesced sparse tensor.

    If an index appears several times, the result depends on the sum of its values only, so their
    gradients are equal, and one of them is the gradient of the element.
    """

    @staticmethod
    def forward(ctx: Any, x: SparseTensor) -> Tensor:
        ctx.parts = (x._index, tuple(x.shape), x._layout, x._coalesced)
        return x._stored.view_as(x._stored)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> SparseTensor:
        index, size, kind, coalesced = ctx.parts
        if not coalesced:
            flat = flat_index(index, size)
            unique, inverse = _C.unique(flat, return_inverse=True)
            chosen = _C.zeros_like(unique).scatter(0, inverse, _C.arange(flat.numel()))
            index, grad = index[:, chosen], grad[chosen]
        return construct(index, grad, size, kind, True)


def construct(
    index: Tensor,
    values: Tensor,
    size: Sequence[int],
    kind: Layout = sparse_coo,
    coalesced: bool = False,
) -> SparseTensor:
    if _C.is_grad_enabled() and values.requires_grad:
        result: SparseTensor = _Construct.apply(values, index, tuple(size), kind, coalesced)
        return result
    return bare(index, values, size, kind, coalesced)


def values_of(x: SparseTensor) -> Tensor:
    if _C.is_grad_enabled() and x.requires_grad:
        result: Tensor = _Values.apply(x)
        return result
    return x._stored


def flat_index(index: Tensor, size: Sequence[int]) -> Tensor:
    """The row-major position of each index in a tensor of this size."""
    flat = _C.zeros(index.shape[1], dtype=_C.int64)
    for row, n in zip(index, size, strict=False):
        flat = flat * n + row
    return flat


def gather_at(x: Tensor, index: Tensor, size: Sequence[int]) -> Tensor:
    """The elements of a dense or sparse tensor at these indices."""
    if not isinstance(x, SparseTensor):
        return x[tuple(index)]
    if x._index is index:
        return values_of(x)
    x = coalesce(x)
    stored, wanted = flat_index(x._index, size), flat_index(index, size)
    values = values_of(x)
    if stored.numel() == 0:
        return _C.zeros((wanted.numel(), *values.shape[1:]), dtype=values.dtype)
    position = _C.searchsorted(stored, wanted).clamp(max=stored.numel() - 1)
    found: Tensor = (stored[position] == wanted).reshape(-1, *[1] * (values.ndim - 1))
    elements: Tensor = _C.where(found, values[position], 0)
    return elements


def coalesce(x: SparseTensor) -> SparseTensor:
    """The same tensor with sorted, unique indices; values at the same index are added."""
    if x._coalesced:
        return x
    size = tuple(x.shape)[: x.sparse_dim()]
    values = values_of(x)
    if not size:
        index, total = x._index[:, :1], values.sum(0, keepdim=True).to(values.dtype)
    else:
        unique, inverse = _C.unique(flat_index(x._index, size), return_inverse=True)
        zeros = _C.zeros((unique.numel(), *values.shape[1:]), dtype=values.dtype)
        index, total = from_flat_index(unique, size), zeros.index_add(0, inverse, values)
    return construct(index, total, tuple(x.shape), x._layout, True)


def from_flat_index(flat: Tensor, size: Sequence[int]) -> Tensor:
    """The inverse of `flat_index`, for a size of at least one dimension."""
    rows = []
    for n in reversed(size):
        rows.append(flat % max(n, 1))
        flat = flat.div(max(n, 1), rounding_mode="floor")
    return _C.stack(rows[::-1])


def dense(x: SparseTensor) -> Tensor:
    """The dense equivalent of x."""
    values = values_of(x)
    sparse = x.sparse_dim()
    rest = tuple(x.shape)[sparse:]
    count = math.prod(tuple(x.shape)[:sparse])
    flat = _C.zeros((count, *rest), dtype=x.dtype)
    if x._nnz():
        position = flat_index(x._index, tuple(x.shape)[:sparse])
        if x.dtype == _C.bool:
            flat = flat.long().index_add(0, position, values.long()).bool()
        else:
            flat = flat.index_add(0, position, values)
    return flat.reshape(tuple(x.shape))


def add_gradients(x: Tensor, y: Tensor) -> Tensor:
    """The sum of two gradients, of which at least one is sparse; it is sparse if both are."""
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        if x._index is y._index:
            return with_values(x, values_of(x) + values_of(y))
        index = _C.cat([x._index, y._index], 1)
        return construct(index, _C.cat([values_of(x), values_of(y)]), tuple(x.shape))
    parts = [dense(t) if isinstance(t, SparseTensor) else t for t in (x, y)]
    total: Tensor = parts[0] + parts[1]
    return total


_C._set_special_gradients(SparseTensor, add_gradients)
