"""make_tensor: random tensors for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._dtype_info import finfo


def make_tensor(
    *shape: int | Sequence[int],
    dtype: _C.dtype,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
) -> Tensor:
    """A tensor with random elements from ``[low, high)``, from the default generator.

    The default range is [-9, 9) for floating dtypes, -9 to 9 for signed integers, 0 to 9 for uint8,
    and both values for bool. ``exclude_zero`` puts the smallest positive number in the place of
    zeros; ``noncontiguous`` leaves gaps between the elements.

    >>> x = make_tensor(2, 3, dtype=genesis.float32, low=0, high=1, noncontiguous=True)
    >>> x.shape, x.is_contiguous()
    (genesis.Size([2, 3]), False)
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        sizes = tuple(shape[0])
    else:
        sizes = tuple(size for size in shape if isinstance(size, int))
        if len(sizes) != len(shape):
            raise TypeError(f"make_tensor: the shape must be ints or one sequence, got {shape}")
    lowest, beyond = _default_range(dtype)
    low, high = lowest if low is None else low, beyond if high is None else high
    if not low < high:
        raise ValueError(f"make_tensor: low must be less than high, got low={low}, high={high}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"make_tensor: requires_grad needs a floating dtype, got {dtype}")

    gaps = noncontiguous and _count(sizes) > 1
    made = (*sizes[:-1], 2 * sizes[-1]) if gaps else sizes
    if dtype.is_complex:
        part = dtype.to_real()
        re, im = (_C.empty(made, dtype=part, device=device).uniform_(low, high) for _ in range(2))
        result = _C.complex(re, im)
    elif dtype.is_floating_point:
        result = _C.empty(made, dtype=dtype, device=device).uniform_(low, high)
    else:
        result = _C.randint(_up(low), _up(high), made, device=device).to(dtype)
    if gaps:
        result = result[..., ::2]
    if exclude_zero:
        exact = not (dtype.is_floating_point or dtype.is_complex)
        smallest = 1 if exact else finfo(dtype).tiny
        result[result == 0] = smallest
    return result.requires_grad_() if requires_grad else result


def _default_range(dtype: _C.dtype) -> tuple[float, float]:
    if dtype == _C.bool:
        return 0, 2
    if dtype.is_floating_point or dtype.is_complex:
        return -9, 9
    return (-9 if dtype.is_signed else 0), 10


def _up(bound: float) -> int:
    """The least integer that is not less: the bound of integers in a range of numbers."""
    return -int(-bound // 1)


def _count(sizes: tuple[int, ...]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count
