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
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "unfold",
]


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
