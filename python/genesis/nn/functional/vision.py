"""Images sampled at points that may be learned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from genesis import _C
from genesis._C import Tensor

__all__ = ["affine_grid", "grid_sample"]


def _positions(size: int, align_corners: bool, like: Tensor) -> Tensor:
    """The positions of the pixels of a line from -1 to 1."""
    if size == 1:
        return _C.zeros(1, dtype=like.dtype, device=like.device)
    edge = 1.0 if align_corners else 1.0 - 1.0 / size
    return _C.linspace(-edge, edge, size, dtype=like.dtype, device=like.device)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points that :func:`grid_sample` takes to transform images by matrices ``theta``.

    ``theta`` is (batch, 2, 3) and ``size`` (batch, channels, height, width), or (batch, 3, 4) and a
    size with depth. The result is (batch, height, width, 2), in coordinates from -1 to 1.

    >>> affine_grid(genesis.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2))
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    spatial = len(size) - 2
    if spatial not in (2, 3) or tuple(theta.shape) != (size[0], spatial, spatial + 1):
        raise _C.ShapeError(
            "affine_grid: theta must be (batch, 2, 3) for a size of 4, (batch, 3, 4) for 5; "
            f"got theta of shape {tuple(theta.shape)} and size {tuple(size)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: sizes must be positive, got {tuple(size)}")
    sides = [_positions(n, bool(align_corners), theta) for n in size[2:]]
    axes = list(reversed(_C.meshgrid(sides, indexing="ij")))  # x is first
    points = _C.stack([*axes, _C.ones(*size[2:], dtype=theta.dtype, device=theta.device)], -1)
    moved = points.reshape(1, -1, spatial + 1) @ theta.transpose(1, 2)
    return moved.reshape(size[0], *size[2:], spatial)


def _reflected(at: Tensor, size: int, align_corners: bool) -> Tensor:
    """Positions folded back at the edges: at pixel centres, or at their outer edges."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return _C.zeros_like(at)
    distance = (at - low).abs()
    folds = (distance / span).floor().detach()
    rest = distance - folds * span
    folded: Tensor = _C.where(folds.remainder(2) == 0, rest + low, span - rest + low)
    return folded.clamp(0, size - 1)


def _padded(at: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    if padding_mode == "border":
        return at.clamp(0, size - 1)
    return _reflected(at, size, align_corners) if padding_mode == "reflection" else at


def _cubic(t: Tensor) -> list[Tensor]:
    """Weights of the four pixels around a position, t behind the second."""
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _taps(
    at: Tensor, size: int, mode: str, padding_mode: str, align_corners: bool
) -> list[tuple[Tensor, Tensor | None]]:
    """Along one dimension, the pixels that each point reads, and with what weight."""
    if mode == "bicubic":
        floor = at.floor().detach()
        return [
            (_padded(floor + (k - 1), size, padding_mode, align_corners), weight)
            for k, weight in enumerate(_cubic(at - floor))
        ]
    at = _padded(at, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(at.round().detach(), None)]
    floor = at.floor().detach()
    after = at - floor
    return [(floor, 1 - after), (floor + 1, after)]


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """``input`` (batch, channels, height, width) read at the points of ``grid``.

    ``grid`` is (batch, height out, width out, 2), each point (x, y) from -1 (left, top) to 1: the
    centres of the corner pixels with ``align_corners``, their outer edges without. Images with
    depth take points (x, y, z). ``mode`` is bilinear, nearest or (without depth) bicubic;
    ``padding_mode``, for points outside, is zeros, border or reflection. Differentiable in both.

    >>> image = genesis.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> grid_sample(image, genesis.tensor([[[[0.0, 0.0], [-0.5, 0.5]]]]))
    tensor([[[[2.5000, 3.0000]]]])
    """
    spatial = input.dim() - 2
    if spatial not in (2, 3) or grid.dim() != input.dim() or grid.shape[-1] != spatial:
        raise _C.ShapeError(
            "grid_sample: input must be (batch, channels, height, width) with grid (batch, height, "
            "width, 2), or both with depth and 3; got input of shape "
            f"{tuple(input.shape)} and grid of shape {tuple(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise _C.ShapeError(
            f"grid_sample: input has batch {input.shape[0]} and grid {grid.shape[0]}; must agree"
        )
    if input.dtype != grid.dtype:
        raise TypeError(
            f"grid_sample: input is {input.dtype} but grid is {grid.dtype}; convert one of them"
        )
    if min(input.shape[2:]) == 0:
        raise _C.ShapeError(f"grid_sample: input of shape {tuple(input.shape)} has no pixels")
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and spatial == 3):
        raise ValueError(
            "grid_sample: mode must be 'bilinear', 'nearest' or, for 4-d input, 'bicubic'; "
            f"got {mode!r}"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', "
            f"got {padding_mode!r}"
        )
    aligned = bool(align_corners)
    batch, channels, *sizes = input.shape
    points = grid.reshape(batch, -1, spatial)
    pixels = input.reshape(batch, channels, -1)
    count = points.shape[1]
    sides = []
    for d, size in enumerate(sizes):
        x = points[..., spatial - 1 - d]
        at = (x + 1) * ((size - 1) / 2) if aligned else ((x + 1) * size - 1) / 2
        sides.append(_taps(at, size, mode, padding_mode, aligned))

    total: Tensor | None = None
    for corner in product(*sides):
        place = _C.zeros(batch, count, dtype=_C.int64, device=grid.device)
        weight: Tensor | None = None
        inside: Tensor | None = None
        for (at, part), size in zip(corner, sizes, strict=True):
            if part is not None:
                weight = part if weight is None else weight * part
            if padding_mode == "zeros":
                here = (at >= 0) & (at <= size - 1)
                inside = here if inside is None else inside & here
            place = place * size + at.clamp(0, size - 1).nan_to_num(0.0).long()
        values = pixels.gather(2, place.unsqueeze(1).expand(batch, channels, count))
        if inside is not None:
            zero = _C.zeros((), dtype=values.dtype, device=values.device)
            values = _C.where(inside.unsqueeze(1), values, zero)
        if weight is not None:
            values = values * weight.unsqueeze(1)
        total = values if total is None else total + values
    assert total is not None
    return total.reshape(batch, channels, *grid.shape[1:-1])
