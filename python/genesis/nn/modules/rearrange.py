"""Layers that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = ["ChannelShuffle", "Flatten", "PixelShuffle", "PixelUnshuffle", "Unflatten"]


class Flatten(Module):
    """Makes one dimension of those from ``start_dim`` to ``end_dim``.

    >>> Flatten()(genesis.ones(32, 1, 5, 5)).shape
    genesis.Size([32, 25])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes several dimensions of one.

    >>> Unflatten(1, (2, 5, 5))(genesis.ones(2, 50)).shape
    genesis.Size([2, 2, 5, 5])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(
                f"Unflatten: dim must be an int, since dimensions have no names, got {dim!r}"
            )
        sizes: Any = unflattened_size
        if not isinstance(sizes, (tuple, list)) or not all(isinstance(n, int) for n in sizes):
            raise TypeError(f"Unflatten: unflattened_size must be a tuple of ints, got {sizes!r}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, tuple(self.unflattened_size))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class PixelShuffle(Module):
    """(\\*, C r r, H, W) to (\\*, C, H r, W r): channels become pixels.

    >>> PixelShuffle(3)(genesis.ones(1, 9, 4, 4)).shape
    genesis.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(\\*, C, H r, W r) to (\\*, C r r, H, W): what undoes ``PixelShuffle``.

    >>> PixelUnshuffle(3)(genesis.ones(1, 1, 12, 12)).shape
    genesis.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Deals the channels of ``groups`` groups out in turn.

    >>> ChannelShuffle(2)(genesis.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
