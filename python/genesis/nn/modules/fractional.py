"""Layers that pool over windows drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]

Numbers = int | Sequence[int]


def _every(value: Any, spatial: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * spatial


class _FractionalMaxPool(Module):
    spatial: int

    def __init__(
        self,
        kernel_size: Numbers,
        output_size: Numbers | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: pass one of output_size and output_ratio")
        self.kernel_size = _every(kernel_size, self.spatial)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _every(output_size, self.spatial)
        self.output_ratio = None if output_ratio is None else _every(output_ratio, self.spatial)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1, got {output_ratio}")


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of random windows: an image shrinks by any factor (Graham, 2014).

    >>> FractionalMaxPool2d(2, output_ratio=0.7)(genesis.zeros(1, 3, 10, 10)).shape
    genesis.Size([1, 3, 7, 7])
    """

    spatial = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPool):
    """The same for volumes.

    >>> FractionalMaxPool3d(2, output_size=4)(genesis.zeros(1, 3, 9, 9, 9)).shape
    genesis.Size([1, 3, 4, 4, 4])
    """

    spatial = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )
