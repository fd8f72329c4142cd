"""Convolutions, and images cut into windows."""

from __future__ import annotations

from collections.abc import Sequence

from genesis import _C
from genesis._C import (
    Tensor,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "unfold",
]


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of (time, batch, channels) with a kernel (time, channels, outputs).

    >>> conv_tbc(genesis.ones(5, 2, 3), genesis.ones(2, 3, 4), genesis.zeros(4)).shape
    genesis.Size([4, 2, 4])
    """
    if input.ndim != 3 or weight.ndim != 3:
        raise _C.ShapeError(
            f"conv_tbc: input and weight must have 3 dimensions, got shapes {tuple(input.shape)} "
            f"and {tuple(weight.shape)}"
        )
    y = _C.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return y.permute(2, 0, 1)


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of images (batch, channels, height, width) as columns.

    >>> unfold(genesis.ones(1, 3, 4, 5), kernel_size=2).shape  # 3 * 2 * 2 elements, 3 * 4 windows
    genesis.Size([1, 12, 12])
    """
    return _C._unfold_windows(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Columns, as :func:`unfold` makes them, added up to images: the transpose of ``unfold``.

    >>> columns = unfold(genesis.ones(1, 1, 2, 3), kernel_size=2)
    >>> fold(columns, (2, 3), kernel_size=2)  # the middle is in two windows
    tensor([[[[1., 2., 1.],
              [1., 2., 1.]]]])
    """
    return _C._fold_windows(input, output_size, kernel_size, dilation, padding, stride)
