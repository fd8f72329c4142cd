"""Layers that change the size of images."""

from __future__ import annotations

from collections.abc import Sequence

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """:func:`genesis.nn.functional.interpolate` as a layer.

    >>> Upsample(scale_factor=2, mode="bilinear")(genesis.ones(1, 3, 4, 5)).shape
    genesis.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor: float | Sequence[float] | None
        if isinstance(scale_factor, Sequence):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Every pixel repeated.

    >>> UpsamplingNearest2d(scale_factor=2)(genesis.ones(1, 3, 4, 5)).shape
    genesis.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: int | tuple[int, int] | None = None,
        scale_factor: float | tuple[float, float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear interpolation with ``align_corners=True``.

    >>> UpsamplingBilinear2d(scale_factor=2)(genesis.ones(1, 3, 4, 5)).shape
    genesis.Size([1, 3, 8, 10])
    """

    def __init__(
        self,
        size: int | tuple[int, int] | None = None,
        scale_factor: float | tuple[float, float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
