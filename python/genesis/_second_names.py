"""PyTorch's second names: functions of ``torch`` that are other functions of Genesis.

PyTorch binds many operators under ``torch`` as well as in ``nn.functional`` or as methods,
sometimes with other parameters: copies of views, for one, end in ``_copy``. Those of functions of
``nn.functional`` are in ``_second_functional``.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import explain

__all__: list[str] = []


def exported(names: list[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a function public and overridable, and adds its name to ``names``."""

    def export(function: Callable[..., Any]) -> Callable[..., Any]:
        names.append(function.__name__)
        made: Callable[..., Any] = _C._overridable(function, explain)
        return made

    return export


_public = exported(__all__)


if TYPE_CHECKING:  # names that loops below define

    def __getattr__(name: str) -> Any: ...


# ---- copies of views ---------------------------------------------------------------------------


def _copied(name: str, view: Callable[..., Any]) -> Callable[..., Any]:
    def copy(*args: Any, **kwargs: Any) -> Any:
        result = view(*args, **kwargs)
        return result.clone() if isinstance(result, Tensor) else tuple(x.clone() for x in result)

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"A copy of what ``{name}`` gives a view of."
    return _public(copy)


_VIEWS: dict[str, Callable[..., Any]] = {
    "alias": lambda input: input,
    "as_strided": _C.as_strided,
    "detach": _C.detach,
    "diagonal": _C.diagonal,
    "expand": lambda input, size, *, implicit=False: input.expand(size),
    "narrow": _C.narrow,
    "permute": _C.permute,
    "select": _C.select,
    "slice": lambda input, *args, **kwargs: input.slice(*args, **kwargs),
    "split": _C.split,
    "split_with_sizes": lambda input, split_sizes, dim=0: input.split(split_sizes, dim),
    "squeeze": _C.squeeze,
    "t": _C.t,
    "transpose": _C.transpose,
    "unbind": _C.unbind,
    "unfold": lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "unsqueeze": _C.unsqueeze,
    "view": lambda input, *args, **kwargs: input.view(*args, **kwargs),
    "view_as_complex": _C.view_as_complex,
    "view_as_real": _C.view_as_real,
    "indices": lambda input: input.indices(),
    "values": lambda input: input.values(),
    "crow_indices": lambda input: input.crow_indices(),
    "col_indices": lambda input: input.col_indices(),
    "ccol_indices": lambda input: input.ccol_indices(),
    "row_indices": lambda input: input.row_indices(),
}
globals().update({f"{name}_copy": _copied(name, view) for name, view in _VIEWS.items()})


# ---- methods as functions ----------------------------------------------------------------------


def _method(name: str) -> Callable[..., Any]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The method ``Tensor.{name}`` as a function."
    return _public(call)


_METHODS = (
    "addmv_", "as_strided_", "conj_physical_", "detach_", "gcd_", "lcm_", "ldexp_", "xlogy_",
)  # fmt: skip
globals().update({name: _method(name) for name in _METHODS})


@_public
def is_signed(input: Tensor) -> bool:
    """Whether the dtype of the tensor can hold negative numbers."""
    return input.dtype.is_signed


@_public
def is_distributed(input: Tensor) -> bool:
    """Whether the tensor is distributed over processes in PyTorch's old sense: no."""
    return False


@_public
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """The same as chunk()."""
    return _C.chunk(input, chunks, dim)


@_public
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """The same as split()."""
    return _C.split(input, split_size, dim)


@_public
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """The same as split() with a list of sizes."""
    return _C.split(input, split_sizes, dim)


@_public
def slice_inverse(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The tensor of which ``input`` is the slice ``src.narrow(dim, ...)``, on the same memory."""
    return _C.as_strided(input, src.shape, src.stride(), src.storage_offset())


@_public
def hash_tensor(
    input: Tensor,
    dim: int | Sequence[int] = (),
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """The exclusive or of the bits of all elements, or along dimensions, as uint64.

    Floating numbers count as float64, integers and bools as int64.

    >>> genesis.hash_tensor(genesis.tensor([1, 2, 4])).item()
    7
    """
    if mode != 0:
        raise ValueError(f"hash_tensor: mode must be 0, the exclusive or, got {mode}")
    dims = [dim] if isinstance(dim, int) else list(dim)
    if input.is_complex():
        raise _C.DTypeError(f"hash_tensor: not defined for complex numbers, got {input.dtype}")
    if input.numel() == 0 and not dims:
        raise ValueError("hash_tensor: the input is empty; name the dimensions with dim")
    import numpy as np

    wide = input.detach().double() if input.is_floating_point() else input.detach().long()
    for d in dims:
        if not -max(input.ndim, 1) <= d < max(input.ndim, 1):
            raise IndexError(f"hash_tensor: dim {d} is out of range for {tuple(input.shape)}")
    axes = tuple(d % max(input.ndim, 1) for d in dims) if dims and input.ndim else None
    bits = np.ascontiguousarray(wide.numpy()).view(np.uint64).reshape(tuple(input.shape))
    reduce: Any = np.bitwise_xor.reduce
    made = _C.from_numpy(np.asarray(reduce(bits, axis=axes, keepdims=keepdim)))
    return made if out is None else out.copy_(made)


# ---- norms and creation ------------------------------------------------------------------------


@_public
def frobenius_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares, of all elements or along one or two dimensions."""
    return _C.linalg_vector_norm(input, 2, dim, keepdim, out=out)


@_public
def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of the singular values."""
    return _C.linalg_matrix_norm(input, "nuc", dim, keepdim, out=out)


@_public
def range(start: float = 0, end: Any = None, step: float = 1, **options: Any) -> Tensor:
    """Numbers from start to end, both included. Prefer arange().

    >>> genesis.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) * step < 0:
        raise ValueError(f"range: step {step} does not lead from {start} to {end}")
    options.setdefault("dtype", _C.get_default_dtype())
    count = math.floor((end - start) / step) + 1
    numbers = _C.arange(count, dtype=_C.float64) * step + start
    return numbers.to(options.pop("dtype")).requires_grad_(options.pop("requires_grad", False))


@_public
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """New memory with the dimension order ``physical_layout``, outermost first."""
    if sorted(physical_layout) != [*builtins.range(len(size))]:
        raise ValueError(
            f"empty_permuted: physical_layout must name each of {len(size)} dimensions once, got "
            f"{tuple(physical_layout)}"
        )
    lying = _C.empty([size[d] for d in physical_layout], **options)
    order = [0] * len(size)
    for place, d in enumerate(physical_layout):
        order[d] = place
    return lying.permute(order)


@_public
def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None, **_: Any
) -> Tensor:
    """A tensor on the memory of a file; with ``shared``, writing to it writes to the file."""
    import numpy as np

    kind = np.dtype((dtype or _C.get_default_dtype()).name)
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), (size or 0) * kind.itemsize))
    data = np.memmap(filename, kind, "r+" if shared else "c", shape=(size or 0,))
    return _C.from_numpy(data)


@_public
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory."""
    return tensor.__dlpack__()


@_public
def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``.

    >>> x = genesis.tensor(2.0)
    >>> genesis.cond(x > 1, lambda x: x + 1, lambda x: x - 1, (x,))
    tensor(3.)
    """
    return true_fn(*operands) if pred else false_fn(*operands)


@_public
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """Call ``body_fn`` on its last result as long as ``cond_fn`` of it is true."""
    values = tuple(carried_inputs)
    while cond_fn(*values):
        result = body_fn(*values)
        values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return values


# ---- linear algebra ----------------------------------------------------------------------------


@_public
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of a symmetric A, or of A x = e B x, and vectors.

    They are computed by a full decomposition, without iterations: ``X`` only determines k.

    >>> values, vectors = genesis.lobpcg(genesis.diag(genesis.tensor([1.0, 5.0, 3.0])), k=2)
    >>> values
    tensor([5., 3.])
    """
    if tracker is not None:
        raise ValueError("lobpcg: there is no iteration, so tracker would not be called")
    count = k or n or (1 if X is None else X.shape[-1])
    matrix = A.to_dense()
    if not 1 <= count <= matrix.shape[-1]:
        raise ValueError(f"lobpcg: k must be in 1..{matrix.shape[-1]}, got {count}")
    if B is None:
        values, vectors = _C.linalg_eigh(matrix)
    else:
        factor = _C.linalg_cholesky(B.to_dense())
        half = _C.linalg_solve_triangular(factor, matrix, upper=False)
        inner = _C.linalg_solve_triangular(factor, half.mT, upper=False)
        values, turned = _C.linalg_eigh(inner)
        vectors = _C.linalg_solve_triangular(factor.mT, turned, upper=True)
    if largest is None or largest:
        return values[..., -count:].flip(-1), vectors[..., -count:].flip(-1)
    return values[..., :count], vectors[..., :count]


def _product(name: str) -> Callable[..., Any]:
    def multiply(*args: Any, **kwargs: Any) -> Any:
        from genesis.sparse import _products

        return _products.addmm(*args, **kwargs) if "addmm" in name else _products.mm(*args)

    multiply.__name__ = multiply.__qualname__ = name
    multiply.__doc__ = "A product of sparse matrices. Use sparse.mm() or sparse.addmm()."
    return _public(multiply)


_PRODUCTS = ("dsmm", "hsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm")
globals().update({name: _product(name) for name in _PRODUCTS})
