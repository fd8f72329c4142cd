"""Layers that reduce windows of images to one number each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

Numbers = int | Sequence[int]
Sizes = int | None | Sequence[int | None]


def _every(spatial: int) -> Callable[[Numbers], tuple[int, ...]]:
    """From one number or several to one for each of `spatial` dimensions."""
    return lambda numbers: (numbers,) * spatial if isinstance(numbers, int) else tuple(numbers)


class _MaxPool(Module):
    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest element of each window over the last dimension.

    Windows begin ``stride`` apart (their length, by default). ``ceil_mode`` counts a last window
    that is not full; ``return_indices`` adds the places of the maxima, for :class:`MaxUnpool1d`.

    >>> MaxPool1d(3, stride=2)(genesis.ones(1, 4, 9)).shape
    genesis.Size([1, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool2d(_MaxPool):
    """The largest element of each window over the last two dimensions.

    The arguments are those of :class:`MaxPool1d`.

    >>> MaxPool2d(3, stride=2)(genesis.ones(1, 4, 9, 9)).shape
    genesis.Size([1, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool3d(_MaxPool):
    """The largest element of each window over the last three dimensions.

    The arguments are those of :class:`MaxPool1d`.

    >>> MaxPool3d(3, stride=2)(genesis.ones(1, 4, 9, 9, 9)).shape
    genesis.Size([1, 4, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class _MaxUnpool(Module):
    _spatial: int

    def __init__(
        self, kernel_size: Numbers, stride: Numbers | None = None, padding: Numbers = 0
    ) -> None:
        super().__init__()
        every = _every(self._spatial)
        self.kernel_size = every(kernel_size)
        self.stride = every(kernel_size if stride is None else stride)
        self.padding = every(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Puts maxima back to where :class:`MaxPool1d` found them; zeros elsewhere.

    >>> values, indices = MaxPool1d(3, return_indices=True)(genesis.ones(1, 4, 9))
    >>> MaxUnpool1d(3)(values, indices).shape
    genesis.Size([1, 4, 9])
    """

    _spatial = 1

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool1d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool2d(_MaxUnpool):
    """Puts maxima back to where :class:`MaxPool2d` found them; zeros elsewhere.

    >>> values, indices = MaxPool2d(3, return_indices=True)(genesis.ones(1, 4, 9, 9))
    >>> MaxUnpool2d(3)(values, indices).shape
    genesis.Size([1, 4, 9, 9])
    """

    _spatial = 2

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool2d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool3d(_MaxUnpool):
    """Puts maxima back to where :class:`MaxPool3d` found them; zeros elsewhere.

    >>> values, indices = MaxPool3d(3, return_indices=True)(genesis.ones(1, 4, 9, 9, 9))
    >>> MaxUnpool3d(3)(values, indices).shape
    genesis.Size([1, 4, 9, 9, 9])
    """

    _spatial = 3

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool3d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class _AvgPool(Module):
    _spatial: int

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window over the last dimension.

    >>> AvgPool1d(3, stride=2)(genesis.ones(1, 4, 9)).shape
    genesis.Size([1, 4, 4])
    """

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        every = _every(1)
        super().__init__(
            every(kernel_size),
            every(kernel_size if stride is None else stride),
            every(padding),
            ceil_mode,
            count_include_pad,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class AvgPool2d(_AvgPool):
    """The mean of each window over the last two dimensions.

    Elements of the padding count unless ``count_include_pad=False``; ``divisor_override`` is
    divided by instead of the number of elements.

    >>> AvgPool2d(3, stride=2)(genesis.ones(1, 4, 9, 9)).shape
    genesis.Size([1, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool3d(_AvgPool):
    """The mean of each window over the last three dimensions.

    The arguments are those of :class:`AvgPool2d`.

    >>> AvgPool3d(3, stride=2)(genesis.ones(1, 4, 9, 9, 9)).shape
    genesis.Size([1, 4, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class _LPPool(Module):
    def __init__(
        self,
        norm_type: float,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window over the last dimension, ``sum(x ** p) ** (1 / p)``.

    >>> LPPool1d(2, 3)(genesis.ones(1, 4, 9)).shape
    genesis.Size([1, 4, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool2d(_LPPool):
    """The p-norm of each window over the last two dimensions, ``sum(x ** p) ** (1 / p)``.

    >>> LPPool2d(2, 3)(genesis.ones(1, 4, 9, 9)).shape
    genesis.Size([1, 4, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool3d(_LPPool):
    """The p-norm of each window over the last three dimensions, ``sum(x ** p) ** (1 / p)``.

    >>> LPPool3d(2, 3)(genesis.ones(1, 4, 9, 9, 9)).shape
    genesis.Size([1, 4, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class _AdaptiveMaxPool(Module):
    def __init__(self, output_size: Sizes, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of ``output_size`` windows of about equal size.

    >>> AdaptiveMaxPool1d(4)(genesis.ones(1, 4, 9)).shape
    genesis.Size([1, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of ``output_size`` windows of about equal size.

    >>> AdaptiveMaxPool2d(4)(genesis.ones(1, 4, 9, 9)).shape
    genesis.Size([1, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of ``output_size`` windows of about equal size.

    >>> AdaptiveMaxPool3d(4)(genesis.ones(1, 4, 9, 9, 9)).shape
    genesis.Size([1, 4, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPool(Module):
    def __init__(self, output_size: Sizes) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Means of ``output_size`` windows of about equal size.

    >>> AdaptiveAvgPool1d(4)(genesis.ones(1, 4, 9)).shape
    genesis.Size([1, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Means of ``output_size`` windows of about equal size.

    >>> AdaptiveAvgPool2d(4)(genesis.ones(1, 4, 9, 9)).shape
    genesis.Size([1, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Means of ``output_size`` windows of about equal size.

    >>> AdaptiveAvgPool3d(4)(genesis.ones(1, 4, 9, 9, 9)).shape
    genesis.Size([1, 4, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


# PyTorch's names, for packages that subclass them or ask for an instance.
_MaxPoolNd = _MaxPool
_AvgPoolNd = _AvgPool
_MaxUnpoolNd = _MaxUnpool
_LPPoolNd = _LPPool
_AdaptiveMaxPoolNd = _AdaptiveMaxPool
_AdaptiveAvgPoolNd = _AdaptiveAvgPool
