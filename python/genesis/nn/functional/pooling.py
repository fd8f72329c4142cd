"""Pooling: windows of images reduced to one number each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor, avg_pool1d, max_pool1d, max_pool2d, max_pool3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Numbers = int | Sequence[int]
Sizes = int | None | Sequence[int | None]

avg_pool2d = _C._avg_pool2d
avg_pool3d = _C._avg_pool3d


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` with the places of the maxima.

    >>> max_pool1d_with_indices(genesis.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    both: tuple[Tensor, Tensor] = max_pool1d(
        input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return both


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` with the places of the maxima in the flattened plane.

    >>> max_pool2d_with_indices(genesis.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    both: tuple[Tensor, Tensor] = max_pool2d(
        input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return both


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = True,
) -> tuple[Tensor, Tensor]:
    """``max_pool3d`` with the places of the maxima in the flattened volume.

    >>> max_pool3d_with_indices(genesis.ones(1, 2, 2, 2), 2)
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """
    both: tuple[Tensor, Tensor] = max_pool3d(
        input, kernel_size, stride, padding, dilation, ceil_mode, True
    )
    return both


def _sizes(op: str, input: Tensor, output_size: Sizes, spatial: int) -> list[int]:
    """`output_size` for every dimension; None keeps the input's."""
    given = list(output_size) if isinstance(output_size, Sequence) else [output_size] * spatial
    if len(given) != spatial:
        raise ValueError(f"{op}: output_size must be one number or {spatial}, got {output_size}")
    if input.dim() < spatial:
        raise _C.ShapeError(f"{op}: input of shape {tuple(input.shape)} has too few dimensions")
    return [size if size is not None else input.shape[d - spatial] for d, size in enumerate(given)]


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """Means over ``output_size`` windows of about equal length.

    >>> adaptive_avg_pool1d(genesis.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _C._adaptive_avg_pool(input, _sizes("adaptive_avg_pool1d", input, output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """Means over windows of about equal size; None in ``output_size`` keeps that of the input.

    >>> adaptive_avg_pool2d(genesis.ones(1, 8, 5, 7), (1, None)).shape
    genesis.Size([1, 8, 1, 7])
    """
    return _C._adaptive_avg_pool(input, _sizes("adaptive_avg_pool2d", input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """Means over windows of about equal size; None in ``output_size`` keeps that of the input.

    >>> adaptive_avg_pool3d(genesis.ones(1, 8, 4, 5, 7), 1).shape
    genesis.Size([1, 8, 1, 1, 1])
    """
    return _C._adaptive_avg_pool(input, _sizes("adaptive_avg_pool3d", input, output_size, 3))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima of ``output_size`` windows of about equal length, and their places.

    >>> adaptive_max_pool1d_with_indices(genesis.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    (tensor([[2., 4.]]), tensor([[1, 3]]))
    """
    return _C._adaptive_max_pool(input, _sizes("adaptive_max_pool1d", input, output_size, 1))


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima of windows of about equal size, and their places in the flattened plane.

    >>> adaptive_max_pool2d_with_indices(genesis.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 1)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _C._adaptive_max_pool(input, _sizes("adaptive_max_pool2d", input, output_size, 2))


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = True
) -> tuple[Tensor, Tensor]:
    """Maxima of windows of about equal size, and their places in the flattened volume.

    >>> adaptive_max_pool3d_with_indices(genesis.ones(1, 2, 2, 2), 1)
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """
    return _C._adaptive_max_pool(input, _sizes("adaptive_max_pool3d", input, output_size, 3))


def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """Maxima of ``output_size`` windows of about equal length; with ``return_indices`` a pair.

    >>> adaptive_max_pool1d(genesis.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[2., 4.]])
    """
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """Maxima of windows of about equal size; with ``return_indices`` a pair.

    >>> adaptive_max_pool2d(genesis.ones(1, 8, 5, 7), (3, 2)).shape
    genesis.Size([1, 8, 3, 2])
    """
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """Maxima of windows of about equal size; with ``return_indices`` a pair.

    >>> adaptive_max_pool3d(genesis.ones(1, 8, 4, 5, 7), 2).shape
    genesis.Size([1, 8, 2, 2, 2])
    """
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


def _every(numbers: Numbers, spatial: int) -> list[int]:
    return [numbers] * spatial if isinstance(numbers, int) else list(numbers)


def _norm(means: Tensor, norm_type: float, count: int) -> Tensor:
    """From means of p-th powers to p-norms; a negative sum has none and gives NaN."""
    return (means.sign() * means.abs().relu() * count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window, ``sum(x ** p) ** (1 / p)``.

    >>> lp_pool1d(genesis.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    means = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm(means, norm_type, math.prod(_every(kernel_size, 1)))


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window, ``sum(x ** p) ** (1 / p)``.

    >>> lp_pool2d(genesis.ones(1, 1, 2, 2), 2, 2)
    tensor([[[[2.]]]])
    """
    means = avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm(means, norm_type, math.prod(_every(kernel_size, 2)))


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window, ``sum(x ** p) ** (1 / p)``.

    >>> lp_pool3d(genesis.ones(1, 1, 2, 2, 2), 3, 2)
    tensor([[[[[2.]]]]])
    """
    means = avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm(means, norm_type, math.prod(_every(kernel_size, 3)))


def _unpool(
    op: str,
    input: Tensor,
    indices: Tensor,
    spatial: int,
    kernel_size: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    output_size: Sequence[int] | None,
) -> Tensor:
    kernel = _every(kernel_size, spatial)
    strides = kernel if stride is None else _every(stride, spatial)
    paddings = _every(padding, spatial)
    if input.dim() not in (spatial + 1, spatial + 2):
        raise _C.ShapeError(
            f"{op}: input must have {spatial + 1} or {spatial + 2} dimensions, "
            f"got shape {tuple(input.shape)}"
        )
    sizes = input.shape[-spatial:]
    made = [
        (n - 1) * s - 2 * p + k for n, s, p, k in zip(sizes, strides, paddings, kernel, strict=True)
    ]
    if output_size is None:
        return _C._max_unpool(input, indices, made)
    wanted = list(output_size)
    if len(wanted) in (spatial + 1, spatial + 2):
        wanted = wanted[-spatial:]  # with batch and channels, as x.shape is
    if len(wanted) != spatial:
        raise _C.ShapeError(
            f"{op}: output_size must have {spatial} numbers, or {input.dim()} as a shape has, "
            f"got {tuple(output_size)}"
        )
    for d, (size, plain, step) in enumerate(zip(wanted, made, strides, strict=True)):
        if not plain - step < size < plain + step:
            raise ValueError(
                f"{op}: output_size[{d}] must be {plain - step + 1} to {plain + step - 1}, "
                f"which pools to an input of size {sizes[d]}; got {size}"
            )
    return _C._max_unpool(input, indices, wanted)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts maxima back to where ``max_pool1d(..., return_indices=True)`` found them.

    >>> values, indices = max_pool1d_with_indices(genesis.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    >>> max_unpool1d(values, indices, 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _unpool("max_unpool1d", input, indices, 1, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts maxima back to where ``max_pool2d(..., return_indices=True)`` found them.

    >>> values, indices = max_pool2d_with_indices(genesis.ones(1, 4, 5), 2)
    >>> max_unpool2d(values, indices, 2, output_size=(4, 5)).shape
    genesis.Size([1, 4, 5])
    """
    return _unpool("max_unpool2d", input, indices, 2, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts maxima back to where ``max_pool3d(..., return_indices=True)`` found them.

    >>> values, indices = max_pool3d_with_indices(genesis.ones(1, 4, 4, 4), 2)
    >>> max_unpool3d(values, indices, 2).shape
    genesis.Size([1, 4, 4, 4])
    """
    return _unpool("max_unpool3d", input, indices, 3, kernel_size, stride, padding, output_size)
