"""Layers that cut images into windows and put them together."""

from __future__ import annotations

from collections.abc import Sequence

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]

Numbers = int | Sequence[int]


class Unfold(Module):
    """The windows of images as columns: (batch, channels * elements of the kernel, windows).

    >>> Unfold(kernel_size=(2, 3))(genesis.ones(2, 5, 3, 4)).shape
    genesis.Size([2, 30, 4])
    """

    def __init__(
        self,
        kernel_size: Numbers,
        dilation: Numbers = 1,
        padding: Numbers = 0,
        stride: Numbers = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Fold(Module):
    """Columns, as :class:`Unfold` makes them, added up to images.

    >>> Fold(output_size=(4, 5), kernel_size=(2, 2))(genesis.ones(1, 3 * 2 * 2, 12)).shape
    genesis.Size([1, 3, 4, 5])
    """

    def __init__(
        self,
        output_size: Numbers,
        kernel_size: Numbers,
        dilation: Numbers = 1,
        padding: Numbers = 0,
        stride: Numbers = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )
