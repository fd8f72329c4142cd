"""Elements moved between channels and places."""

from __future__ import annotations

from genesis import _C
from genesis._C import Tensor

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(\\*, C r r, H, W) to (\\*, C, H r, W r): channels become pixels.

    >>> pixel_shuffle(genesis.arange(4.0).reshape(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    r = upscale_factor
    if r < 1 or input.ndim < 3 or input.shape[-3] % (r * r):
        raise _C.ShapeError(
            f"pixel_shuffle: expected (*, C, H, W), where C is divisible by {r} squared, got "
            f"{tuple(input.shape)}"
        )
    *batch, channels, height, width = input.shape
    parts = input.reshape(*batch, channels // (r * r), r, r, height, width)
    n = len(batch)
    moved = parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return moved.reshape(*batch, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(\\*, C, H r, W r) to (\\*, C r r, H, W): what undoes ``pixel_shuffle``.

    >>> pixel_unshuffle(genesis.arange(4.0).reshape(1, 1, 2, 2), 2).shape
    genesis.Size([1, 4, 1, 1])
    """
    r = downscale_factor
    if r < 1 or input.ndim < 3 or input.shape[-2] % r or input.shape[-1] % r:
        raise _C.ShapeError(
            f"pixel_unshuffle: expected (*, C, H, W), where H and W are divisible by {r}, got "
            f"{tuple(input.shape)}"
        )
    *batch, channels, height, width = input.shape
    parts = input.reshape(*batch, channels, height // r, r, width // r, r)
    n = len(batch)
    moved = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return moved.reshape(*batch, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, \\*) with the channels of ``groups`` groups dealt out in turn.

    >>> channel_shuffle(genesis.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise _C.ShapeError(
            f"channel_shuffle: expected (N, C, *), where C is divisible by {groups}, got "
            f"{tuple(input.shape)}"
        )
    n, channels, *places = input.shape
    parts = input.reshape(n, groups, channels // groups, *places)
    return parts.transpose(1, 2).reshape(n, channels, *places)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The same as ``channel_shuffle``.

    >>> native_channel_shuffle(genesis.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return channel_shuffle(input, groups)
