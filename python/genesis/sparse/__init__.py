"""Sparse tensors, which store only their nonzero elements.

>>> i, v = genesis.tensor([[0, 1, 1], [2, 0, 2]]), genesis.tensor([3.0, 4.0, 5.0])
>>> x = genesis.sparse_coo_tensor(i, v, (2, 3))
>>> x.to_dense()
tensor([[0., 0., 3.],
        [4., 0., 5.]])
>>> x @ genesis.ones(3, 1)
tensor([[3.],
        [9.]])

The layouts are ``sparse_coo`` (any number of dimensions), ``sparse_csr`` and ``sparse_csc``
(matrices, compressed by rows or columns). Sparse tensors are differentiable, and their gradients
are sparse. Operations that do not support them raise an error that suggests ``to_dense()``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from genesis._missing import explain
from genesis.sparse import _functions
from genesis.sparse._products import addmm, log_softmax, mm, softmax
from genesis.sparse._shapes import sum
from genesis.sparse._tensor import SparseTensor, coalesce, construct, values_of, with_values

__all__ = [
    "SparseTensor",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]


def _index(op: str, name: str, data: Any) -> Tensor:
    index = data if isinstance(data, Tensor) else _C.tensor(data)
    if index.numel() == 0 and index.is_floating_point():
        index = index.long()
    if index.is_floating_point() or index.dtype == _C.bool:
        raise TypeError(f"{op}: {name} must be integers, got {index.dtype}; use {name}.long()")
    return index.detach().long()


def _data(values: Any, dtype: Any) -> Tensor:
    data = values if isinstance(values, Tensor) else _C.tensor(values)
    return data if dtype is None else data.to(dtype)


def _within(op: str, name: str, index: Tensor, limit: int) -> None:
    if index.numel() and not 0 <= int(index.min()) <= int(index.max()) < limit:
        raise IndexError(
            f"{op}: {name} must be from 0 to {limit - 1}, got values from {int(index.min())} to "
            f"{int(index.max())}"
        )


def _finished(x: SparseTensor, requires_grad: bool) -> SparseTensor:
    return _functions.detach(x).requires_grad_() if requires_grad else x


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A sparse tensor with ``values`` at ``indices``, whose rows correspond to dimensions.

    Values at the same index are added. By default, ``size`` is the smallest that contains all
    indices. ``sparse_coo_tensor(size)`` is a tensor of zeros.

    >>> genesis.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
    tensor(indices=tensor([[0, 1]]),
           values=tensor([1., 2.]),
           size=(3,), nnz=2, layout=genesis.sparse_coo)
    """
    op = "sparse_coo_tensor"
    if device is not None:
        _C.empty(0, device=device)
    if values is None and size is None and isinstance(indices, tuple):
        indices, values, size = _C.zeros(len(indices), 0, dtype=_C.int64), _C.zeros(0), indices
    index, data = _index(op, "indices", indices), _data(values, dtype)
    if index.ndim != 2:
        raise _C.ShapeError(
            f"{op}: indices must have shape (dimensions, elements), got {tuple(index.shape)}"
        )
    if data.ndim == 0 and index.shape[1] == 1:
        data = data.reshape(1)
    if data.ndim == 0 or data.shape[0] != index.shape[1]:
        raise _C.ShapeError(
            f"{op}: indices and values must have the same number of elements, got indices of shape "
            f"{tuple(index.shape)} and values of shape {tuple(data.shape)}"
        )
    sparse = index.shape[0]
    if size is None:
        if index.shape[1] == 0 and sparse:
            size = (*[0] * sparse, *data.shape[1:])
        else:
            size = (*(int(row.max()) + 1 for row in index), *data.shape[1:])
    size = tuple(int(n) for n in size)
    if any(n < 0 for n in size):
        raise _C.ShapeError(f"{op}: size must not be negative, got {size}")
    if len(size) != sparse + data.ndim - 1 or size[sparse:] != tuple(data.shape[1:]):
        raise _C.ShapeError(
            f"{op}: size {size} does not match {sparse} rows of indices and values of shape "
            f"{tuple(data.shape)}"
        )
    for d in range(sparse):
        _within(op, f"indices[{d}]", index[d], size[d])
    x = construct(index, data, size, sparse_coo, bool(is_coalesced) or index.shape[1] < 2)
    return _finished(x, requires_grad)


def _compressed(
    op: str, kind: layout, d: int, compressed: Any, plain: Any, values: Any, size: Any, dtype: Any
) -> SparseTensor:
    starts = _index(op, "compressed indices", compressed)
    other = _index(op, "plain indices", plain)
    data = _data(values, dtype)
    if starts.ndim != 1 or other.ndim != 1 or data.ndim != 1:
        raise _C.ShapeError(
            f"{op}: indices and values must be 1-d (batches and dense dimensions are not "
            f"supported), got shapes {tuple(starts.shape)}, {tuple(other.shape)} and "
            f"{tuple(data.shape)}"
        )
    count = data.shape[0]
    if size is None:
        length = int(other.max()) + 1 if other.numel() else 0
        size = (starts.numel() - 1, length) if d == 0 else (length, starts.numel() - 1)
    size = tuple(int(n) for n in size)
    if len(size) != 2 or starts.numel() != size[d] + 1 or other.numel() != count:
        raise _C.ShapeError(
            f"{op}: size {size} does not match {starts.numel()} compressed indices, "
            f"{other.numel()} plain indices and {count} values"
        )
    steps = starts.diff()
    if int(starts[0]) != 0 or int(starts[-1]) != count or bool((steps < 0).any()):
        raise _C.ShapeError(
            f"{op}: compressed indices must increase from 0 to {count}, the number of values, got "
            f"{starts.tolist() if starts.numel() < 10 else 'others'}"
        )
    _within(op, "plain indices", other, size[1 - d])
    line = _C.arange(size[d]).repeat_interleave(steps)
    index = _C.stack([line, other] if d == 0 else [other, line])
    return construct(index, data, size, kind, True)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A matrix in compressed sparse row format.

    ``crow_indices`` holds the position of the first value of each row, and ``col_indices`` the
    column of each value.

    >>> genesis.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    if device is not None:
        _C.empty(0, device=device)
    x = _compressed(
        "sparse_csr_tensor", sparse_csr, 0, crow_indices, col_indices, values, size, dtype
    )
    return _finished(x, requires_grad)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """A matrix in compressed sparse column format.

    ``ccol_indices`` holds the position of the first value of each column, and ``row_indices`` the
    row of each value.

    >>> genesis.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4.0, 3.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if device is not None:
        _C.empty(0, device=device)
    x = _compressed(
        "sparse_csc_tensor", sparse_csc, 1, ccol_indices, row_indices, values, size, dtype
    )
    return _finished(x, requires_grad)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    layout: layout | None = None,
    **options: Any,
) -> SparseTensor:
    """A matrix in the format ``layout``: see sparse_csr_tensor() and sparse_csc_tensor()."""
    if layout is sparse_csr:
        return sparse_csr_tensor(compressed_indices, plain_indices, values, size, **options)
    if layout is sparse_csc:
        return sparse_csc_tensor(compressed_indices, plain_indices, values, size, **options)
    raise _C.ShapeError(
        f"sparse_compressed_tensor: layout must be sparse_csr or sparse_csc, got {layout}"
    )


def _no_blocks(op: str, kind: layout) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{op}: the block layout {kind} is not supported; use sparse_csr_tensor() or "
            "sparse_coo_tensor()"
        )

    refuse.__name__ = refuse.__qualname__ = op
    refuse.__doc__ = f"Raises an error: the block layout {kind} is not supported."
    return refuse


sparse_bsr_tensor = _no_blocks("sparse_bsr_tensor", sparse_bsr)
sparse_bsc_tensor = _no_blocks("sparse_bsc_tensor", sparse_bsc)


def rebuilt(x: SparseTensor, kind: layout, coalesced: bool) -> SparseTensor:
    """The tensor with another layout, whose order its indices already have (for loading files)."""
    return construct(x._index, x._stored, tuple(x.shape), kind, coalesced)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> SparseTensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the indices of the sparse ``input``.

    >>> x = genesis.eye(2).to_sparse_csr()
    >>> genesis.sparse.sampled_addmm(x, genesis.ones(2, 3), genesis.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    if not isinstance(input, SparseTensor) or input.sparse_dim() != 2:
        raise _C.ShapeError(
            "sampled_addmm: input must be a sparse matrix; use input.to_sparse_csr()"
        )
    if (
        mat1.ndim != 2
        or mat2.ndim != 2
        or mat1.shape[1] != mat2.shape[0]
        or (mat1.shape[0], mat2.shape[1]) != tuple(input.shape)
    ):
        raise _C.ShapeError(
            f"sampled_addmm: input must have the shape of mat1 @ mat2, got {tuple(input.shape)}, "
            f"{tuple(mat1.shape)} and {tuple(mat2.shape)}"
        )
    rows, cols = input._index
    products = (mat1.index_select(0, rows) * mat2.index_select(1, cols).T).sum(1)
    return with_values(input, beta * values_of(input) + alpha * products)


def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: layout | None = None
) -> Any:
    """A sparse matrix with the rows of ``diagonals`` on the diagonals ``offsets``.

    >>> lines = genesis.tensor([[1.0, 2.0, 3.0]])
    >>> genesis.sparse.spdiags(lines, genesis.tensor([1]), (2, 3)).to_dense()
    tensor([[0., 2., 0.],
            [0., 0., 3.]])
    """
    lines = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    if offsets.is_floating_point() or offsets.dtype == _C.bool:
        raise _C.DTypeError(f"spdiags: offsets must be integers, got {offsets.dtype}")
    shifts = offsets.reshape(-1).long()
    if shifts.numel() != lines.shape[0] or len(set(shifts.tolist())) != shifts.numel():
        raise _C.ShapeError(
            f"spdiags: expected {lines.shape[0]} different offsets, one for each row of diagonals, "
            f"got {shifts.tolist()}"
        )
    if len(shape) != 2:
        raise _C.ShapeError(f"spdiags: shape must have 2 dimensions, got {tuple(shape)}")
    m, n = shape
    cols = _C.arange(lines.shape[1]).expand(tuple(lines.shape))
    rows = cols - shifts.unsqueeze(1)
    kept = ((rows >= 0) & (rows < m) & (cols < n)).reshape(-1)
    index = _C.stack([rows.reshape(-1)[kept], cols.reshape(-1)[kept]])
    x = construct(index, lines.reshape(-1)[kept], (m, n))
    return _functions.to_layout(coalesce(x), layout)


def spsolve(input: SparseTensor, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution X of ``input @ X = other``, computed with a dense LU factorization."""
    return _C.linalg_solve(input.to_dense(), other, left=left)


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """A ``gradcheck`` for functions that take or return sparse tensors.

    It perturbs all elements of sparse inputs, or with ``masked=True`` only the stored elements.

    >>> check = genesis.sparse.as_sparse_gradcheck(genesis.autograd.gradcheck)
    >>> x = genesis.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=genesis.float64).to_sparse()
    >>> check(lambda x: x @ genesis.ones(2, 1, dtype=genesis.float64), (x.requires_grad_(),))
    True
    """

    @functools.wraps(gradcheck)
    def check(func: Callable[..., Any], inputs: Any, *args: Any, **kwargs: Any) -> bool:
        masked = kwargs.pop("masked", False)
        given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        leaves: list[Any] = []
        builds: list[Any] = []
        for x in given:
            build = None
            if isinstance(x, SparseTensor) and x.requires_grad:
                x, build = _as_leaf(x, masked)
            leaves.append(x)
            builds.append(build)

        def dense(*values: Any) -> Any:
            made = [v if b is None else b(v) for v, b in zip(values, builds, strict=True)]
            result = func(*made)
            several = isinstance(result, (tuple, list))
            parts = [
                y.to_dense() if isinstance(y, SparseTensor) else y
                for y in (result if several else [result])
            ]
            return tuple(parts) if several else parts[0]

        return gradcheck(dense, tuple(leaves), *args, **kwargs)

    return check


def _as_leaf(x: SparseTensor, masked: bool) -> tuple[Tensor, Callable[[Tensor], Any]]:
    """The values of a sparse tensor as a leaf, and a function that builds a tensor from values."""
    kind, size = x.layout, tuple(x.shape)
    coo = coalesce(_functions.to_layout(_functions.detach(x), sparse_coo))
    index, values = coo.indices(), coo.values()
    if not masked:
        index = _C.ones(size[: index.shape[0]]).nonzero().T.contiguous()
        values = coo.to_dense().reshape(index.shape[1], *values.shape[1:])

    def build(data: Tensor) -> Any:
        return _functions.to_layout(construct(index, data, size, sparse_coo, True), kind)

    return values.detach().clone().requires_grad_(), build


class check_sparse_tensor_invariants:
    """Accepted for compatibility with PyTorch: indices are always checked."""

    def __init__(self, enable: bool = True) -> None:
        self.state = enable

    @staticmethod
    def is_enabled() -> bool:
        return True

    @staticmethod
    def enable() -> None:
        """Does nothing: indices are always checked."""

    @staticmethod
    def disable() -> None:
        """Does nothing: indices are always checked."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function


explain(globals())
