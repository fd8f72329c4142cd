"""Reductions and normalisations over the elements that a mask selects, under PyTorch's names.

``mask`` is true where an element counts; it broadcasts to the shape of the input.

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
    """The mask as bool, in the shape of the input."""
    if mask is None:
        return None
    if mask.ndim > input.ndim:
        raise IndexError(
            f"masked.{op}: mask of shape {tuple(mask.shape)} has more dimensions than input of "
            f"shape {tuple(input.shape)}"
        )
    return mask.bool().broadcast_to(tuple(input.shape))


def _filled(op: str, input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """The input with what does not count replaced by the identity of the reduction."""
    canonical = _canonical(op, input, mask)
    return input if canonical is None else _C.where(canonical, input, value)


def _least(x: Tensor) -> float:
    """The identity of the maximum."""
    if x.is_floating_point() or x.is_complex():
        return -math.inf
    return 0 if x.dtype == _C.bool else iinfo(x.dtype).min


def _most(x: Tensor) -> float:
    if x.is_floating_point() or x.is_complex():
        return math.inf
    return 1 if x.dtype == _C.bool else iinfo(x.dtype).max


def _dims(dim: Dims, x: Tensor) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(x.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


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
    """The sum of the elements that count."""
    return _C.sum(_filled("sum", input, mask, 0), _dims(dim, input), keepdim, dtype=dtype)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that count."""
    result = _cast(_filled("prod", input, mask, 1), dtype)
    if not (result.is_floating_point() or result.is_complex()):
        result = result.to(result.dtype if dtype is not None else _C.int64)
    for d in sorted((d % max(input.ndim, 1) for d in _dims(dim, input)), reverse=True):
        result = result.prod(d, keepdim)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Sums of the elements up to each one, of those that count."""
    return _C.cumsum(_filled("cumsum", input, mask, 0), dim, dtype=dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Products of the elements up to each one, of those that count."""
    return _C.cumprod(_filled("cumprod", input, mask, 1), dim, dtype=dtype)


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest of the elements that count, -inf where there are none."""
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
    """The smallest of the elements that count, inf where there are none."""
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
    """Where the largest element that counts is, in the dtype of the input."""
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
    """Where the smallest element that counts is, in the dtype of the input."""
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
    """The mean of the elements that count, NaN where there are none."""
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(
            f"masked.mean: the result must be floating, got {dtype or input.dtype}; pass "
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
    """The median of the elements that count (the lower of two), NaN where there are none."""
    floating = input.is_floating_point()
    x = _filled("median", input if floating else input.float(), mask, math.nan)
    result: Tensor = _C.nanmedian(x, dim, keepdim).values
    if floating:
        return result
    if result.isnan().any():
        raise ValueError(
            f"masked.median: every line of an {input.dtype} input must have an element that "
            "counts; use input.float(), whose median is NaN there"
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
    """The vector norm of the elements that count."""
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
    """The variance of the elements that count."""
    if unbiased is not None and correction is not None:
        raise ValueError("masked.var: pass unbiased or correction, not both")
    left = correction if correction is not None else float(unbiased is None or unbiased)
    fractional = input.is_floating_point() or input.is_complex()
    wide = dtype or (input.dtype if fractional else _C.float32)
    compute = wide if wide.is_floating_point or wide.is_complex else _C.float32
    x = input.to(compute)
    average = sum(x, dim, keepdim=True, mask=mask) / _count("var", input, dim, True, mask)
    squares = (x - average).abs().square() if x.is_complex() else (x - average).square()
    total = sum(squares, dim, keepdim=keepdim, mask=mask)
    count = _count("var", input, dim, keepdim, mask)
    return (total / (count - left).clamp(min=0)).to(wide)


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
    """The standard deviation of the elements that count."""
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
    """log(sum(exp(x))) over the elements that count."""
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
    """log(exp(x) + exp(y)) of the elements that count."""
    x = _filled("logaddexp", input, input_mask, _least(input))
    y = _filled("logaddexp", other, other_mask, _least(other))
    return _cast(_C.logaddexp(x, y), dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax() over the elements that count, 0 for the others, NaN where there are none."""
    return _C.softmax(_filled("softmax", input, mask, _least(input)), dim, dtype)


def log_softmax(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """log_softmax() over the elements that count, -inf for the others."""
    return _C.log_softmax(_filled("log_softmax", input, mask, _least(input)), dim, dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax(-x) over the elements that count, 0 for the others."""
    return _C.softmin(_filled("softmin", input, mask, _most(input)), dim, dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The input divided by its norm over the elements that count; the others are 0."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled("normalize", input, mask, 0) / _C.maximum(size, builtins.float(eps))


for _name in __all__:
    globals()[_name] = _C._overridable(globals()[_name])

__all__ += ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]


explain(globals())
