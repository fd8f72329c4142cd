"""Reductions and normalizations over the elements that a mask selects, under PyTorch's names.

``mask`` is True for the elements to include; it must be broadcastable to the shape of the input.

>>> x = genesis.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> mask = genesis.tensor([[True, False], [True, True]])
>>> genesis.masked.sum(x, 1, mask=mask)
tensor([1., 7.])
>>> genesis.masked.softmax(x, 1, mask=mask)
tensor([[1.0000, 0.0000],
        [0.2689, 0.7311]])
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._dtype_info import iinfo
from genesis._masked_tensor import (
    MaskedTensor,
    as_masked_tensor,
    is_masked_tensor,
    masked_tensor,
)
from genesis._missing import explain

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


def _canonical(op: str, input: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask as bool, broadcast to the shape of the input."""
    if mask is None:
        return None
    if mask.ndim > input.ndim:
        raise IndexError(
            f"masked.{op}: mask of shape {tuple(mask.shape)} has more dimensions than input of "
            f"shape {tuple(input.shape)}"
        )
    pairs = zip(reversed(mask.shape), reversed(input.shape), strict=False)
    if any(m not in (1, n) for m, n in pairs):
        raise _C.ShapeError(
            f"masked.{op}: mask of shape {tuple(mask.shape)} does not broadcast to input of shape "
            f"{tuple(input.shape)}"
        )
    return mask.bool().broadcast_to(tuple(input.shape))


def _filled(op: str, input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """The input with masked-out elements replaced by the identity of the reduction."""
    canonical = _canonical(op, input, mask)
    return input if canonical is None else _C.where(canonical, input, value)


def _least(x: Tensor) -> float:
    """The smallest value of the dtype, the identity of the maximum."""
    if x.is_floating_point() or x.is_complex():
        return -math.inf
    return 0 if x.dtype == _C.bool else iinfo(x.dtype).min


def _most(x: Tensor) -> float:
    """The largest value of the dtype, the identity of the minimum."""
    if x.is_floating_point() or x.is_complex():
        return math.inf
    return 1 if x.dtype == _C.bool else iinfo(x.dtype).max


def _dims(dim: Dims, x: Tensor) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(x.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _wrapped(op: str, dims: tuple[int, ...], x: Tensor) -> list[int]:
    """The dimensions, counted from 0, in descending order; raises if one is invalid or repeated."""
    n = max(x.ndim, 1)
    for d in dims:
        if not -n <= d < n:
            raise IndexError(f"masked.{op}: dim {d} is out of range for shape {tuple(x.shape)}")
    wrapped = sorted({d % n for d in dims}, reverse=True)
    if len(wrapped) != len(dims):
        raise _C.ShapeError(f"masked.{op}: dim contains a dimension twice: {dims}")
    return wrapped


def _one(op: str, dim: Dims, x: Tensor) -> int:
    """The dimension of a function that takes only one: as in PyTorch, the first of several."""
    return _wrapped(op, _dims(dim, x) or (0,), x)[-1]


def _cast(x: Tensor, dtype: Any) -> Tensor:
    return x if dtype is None else x.to(dtype)


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that ``mask`` selects."""
    return _C.sum(_filled("sum", input, mask, 0), _dims(dim, input), keepdim, dtype=dtype)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that ``mask`` selects."""
    result = _cast(_filled("prod", input, mask, 1), dtype)
    if not (result.is_floating_point() or result.is_complex()):
        result = result.to(result.dtype if dtype is not None else _C.int64)
    for d in _wrapped("prod", _dims(dim, input), input):
        result = result.prod(d, keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The cumulative sum along ``dim``, where masked-out elements count as 0."""
    x = _filled("cumsum", input, mask, 0)
    return _C.cumsum(x, _one("cumsum", dim, input), dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The cumulative product along ``dim``, where masked-out elements count as 1."""
    x = _filled("cumprod", input, mask, 1)
    return _C.cumprod(x, _one("cumprod", dim, input), dtype=dtype or input.dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The maximum of the elements that ``mask`` selects; -inf if it selects none."""
    x = _filled("amax", input, mask, _least(input))
    return _cast(_C.amax(x, _dims(dim, input), keepdim), dtype)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The minimum of the elements that ``mask`` selects; inf if it selects none."""
    x = _filled("amin", input, mask, _most(input))
    return _cast(_C.amin(x, _dims(dim, input), keepdim), dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the maximum of the elements that ``mask`` selects, in the dtype of the input."""
    x = _filled("argmax", input, mask, _least(input))
    return _C.argmax(x, dim, keepdim).to(input.dtype if dtype is None else dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The index of the minimum of the elements that ``mask`` selects, in the dtype of the input."""
    x = _filled("argmin", input, mask, _most(input))
    return _C.argmin(x, dim, keepdim).to(input.dtype if dtype is None else dtype)


def _count(op: str, input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    canonical = _canonical(op, input, mask)
    if canonical is None:
        canonical = _C.ones((), dtype=_C.bool).broadcast_to(tuple(input.shape))
    return canonical.sum(_dims(dim, input), keepdim)


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that ``mask`` selects; NaN if it selects none."""
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(
            f"masked.mean: input of {dtype or input.dtype} has no mean of that dtype; pass "
            "dtype=genesis.float32"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count("mean", input, dim, keepdim, mask)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The (lower) median of the elements that ``mask`` selects; NaN if it selects none."""
    floating = input.is_floating_point()
    x = _filled("median", input if floating else input.float(), mask, math.nan)
    result: Tensor = _C.nanmedian(x, _one("median", dim, input), keepdim).values
    if floating:
        return result
    if result.isnan().any():
        raise ValueError(
            f"masked.median: mask selects no element of a slice along dim {dim}, and {input.dtype} "
            "cannot represent NaN; use input.float()"
        )
    return result.to(input.dtype if dtype is None else dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the elements that ``mask`` selects."""
    x = _filled("norm", input, mask, math.inf if ord == -math.inf else 0)
    order = 2.0 if ord is None else ord
    return _C.linalg_vector_norm(x, order, _dims(dim, input), keepdim, dtype=dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that ``mask`` selects."""
    if unbiased is not None and correction is not None:
        raise ValueError("masked.var: pass unbiased or correction, not both")
    ddof = correction if correction is not None else float(unbiased is None or unbiased)
    fractional = input.is_floating_point() or input.is_complex()
    wide = dtype or (input.dtype if fractional else _C.float32)
    compute = wide if wide.is_floating_point or wide.is_complex else _C.float32
    x = input.to(compute)
    average = sum(x, dim, keepdim=True, mask=mask) / _count("var", input, dim, True, mask)
    squares = (x - average).abs().square() if x.is_complex() else (x - average).square()
    total = sum(squares, dim, keepdim=keepdim, mask=mask)
    count = _count("var", input, dim, keepdim, mask)
    return (total / (count - ddof).clamp(min=0)).to(wide)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements that ``mask`` selects."""
    fractional = dtype is None or dtype.is_floating_point or dtype.is_complex
    compute = dtype if fractional else _C.float32
    variance = var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=compute, mask=mask
    )
    return _cast(variance.sqrt(), dtype)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """log(sum(exp(x))) over the elements that ``mask`` selects."""
    x = _filled("logsumexp", input, mask, _least(input))
    return _C.logsumexp(x, _dims(dim, input), keepdim).to(dtype or input.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), where masked-out elements count as -inf."""
    x = _filled("logaddexp", input, input_mask, _least(input))
    y = _filled("logaddexp", other, other_mask, _least(other))
    return _cast(_C.logaddexp(x, y), dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax() over the elements that ``mask`` selects; masked-out elements are 0."""
    x = _filled("softmax", input, mask, _least(input))
    return _C.softmax(x, _one("softmax", dim, input), dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log_softmax() over the elements that ``mask`` selects; masked-out elements are -inf."""
    x = _filled("log_softmax", input, mask, _least(input))
    return _C.log_softmax(x, _one("log_softmax", dim, input), dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax(-x) over the elements that ``mask`` selects; masked-out elements are 0."""
    x = _filled("softmin", input, mask, _most(input))
    return _C.softmin(x, _one("softmin", dim, input), dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The input divided by the norm over ``mask``; masked-out elements are 0."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled("normalize", input, mask, 0) / _C.maximum(length, builtins.float(eps))


for _name in __all__:
    globals()[_name] = _C._overridable(globals()[_name])

__all__ += ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]


explain(globals())
