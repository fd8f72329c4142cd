"""RandAugment: random operations from a fixed list, of one strength."""

from __future__ import annotations

import math
from collections.abc import Callable

from genesis import _C
from genesis._C import Generator, Tensor
from genesis.data.transforms import _colour
from genesis.data.transforms._base import Transform, as_before, as_float, per_image
from genesis.nn import functional as F

Operation = Callable[[Tensor, Tensor], Tensor]


def _affine(images: Tensor, rows: Tensor) -> Tensor:
    """Images moved by matrices (N, 2, 3) of places in the result to places in the image, in pixels
    from the middle. What comes from outside is black."""
    n, c, height, width = images.shape
    sides = _C.tensor([width, height], dtype=images.dtype) / 2
    theta = rows.to(images.dtype).clone()
    theta[:, :, :2] = theta[:, :, :2] * sides.reshape(1, 1, 2) / sides.reshape(1, 2, 1)
    theta[:, :, 2] = theta[:, :, 2] / sides
    grid = F.affine_grid(theta, [n, c, height, width], align_corners=False)
    return F.grid_sample(images, grid, mode="nearest", align_corners=False)


def _matrix(n: int, entries: dict[tuple[int, int], Tensor]) -> Tensor:
    rows = _C.tensor([[1.0, 0, 0], [0, 1.0, 0]]).repeat(n, 1, 1)
    for (i, j), values in entries.items():
        rows[:, i, j] = values
    return rows


def _shear(images: Tensor, amount: Tensor, place: tuple[int, int]) -> Tensor:
    return _affine(images, _matrix(len(images), {place: amount}))


def _translate(images: Tensor, share: Tensor, axis: int) -> Tensor:
    size = images.shape[-1 - axis]
    return _affine(images, _matrix(len(images), {(axis, 2): share * size}))


def _rotate(images: Tensor, degrees: Tensor) -> Tensor:
    angle = degrees * (math.pi / 180)
    cosine, sine = angle.cos(), angle.sin()
    entries = {(0, 0): cosine, (0, 1): -sine, (1, 0): sine, (1, 1): cosine}
    return _affine(images, _matrix(len(images), entries))


def _sharpness(images: Tensor, factor: Tensor) -> Tensor:
    """Away from a blurred image; the border, which has no full neighbourhood, stays."""
    if min(images.shape[-2:]) < 3:
        return images
    c = images.shape[1]
    kernel = _C.ones(3, 3, dtype=images.dtype)
    kernel[1, 1] = 5
    kernel = (kernel / kernel.sum()).expand(c, 1, 3, 3)
    blurred = images.clone()
    blurred[:, :, 1:-1, 1:-1] = F.conv2d(images, kernel, groups=c)
    return _colour.blend(images, blurred, factor)


def _posterize(images: Tensor, bits: Tensor) -> Tensor:
    levels = per_image((8 - bits.round()).exp2()).to(images.dtype)
    found: Tensor = ((images * 255).round() / levels).floor() * levels / 255
    return found


def _solarize(images: Tensor, threshold: Tensor) -> Tensor:
    bright = images >= per_image(threshold).to(images.dtype)
    found: Tensor = _C.where(bright, 1 - images, images)
    return found


def _autocontrast(images: Tensor, _: Tensor) -> Tensor:
    low, high = images.amin((2, 3), keepdim=True), images.amax((2, 3), keepdim=True)
    span = high - low
    scaled = (images - low) / _C.where(span > 0, span, _C.ones_like(span))
    found: Tensor = _C.where(span > 0, scaled, images)
    return found


def _equalize(images: Tensor, _: Tensor) -> Tensor:
    """Every grey level equally often, for each channel: 256 levels by their rank."""
    levels = (images * 255).round().long()
    found = _C.empty_like(images)
    for n in range(images.shape[0]):
        for c in range(images.shape[1]):
            found[n, c] = _equalized(levels[n, c]).to(images.dtype) / 255
    return found


def _equalized(levels: Tensor) -> Tensor:
    counts = _C.bincount(levels.flatten(), minlength=256)
    last = counts[counts.nonzero()[-1]]
    step = (counts.sum() - last) // 255
    if int(step) == 0:
        return levels
    table = ((counts.cumsum(0) - counts + step // 2) // step).clamp(0, 255)
    return table[levels]


def _flat(operation: Operation) -> Operation:
    """For operations of colour, which an image of one channel does not have."""
    return lambda images, x: operation(images, x) if images.shape[1] == 3 else images


# name: (operation, its argument at strength 0 and at strength 1, whether a sign is drawn)
_OPERATIONS: dict[str, tuple[Operation, float, float, bool]] = {
    "identity": (lambda images, _: images, 0.0, 0.0, False),
    "shear_x": (lambda images, x: _shear(images, x, (0, 1)), 0.0, 0.3, True),
    "shear_y": (lambda images, x: _shear(images, x, (1, 0)), 0.0, 0.3, True),
    "translate_x": (lambda images, x: _translate(images, x, 0), 0.0, 150 / 331, True),
    "translate_y": (lambda images, x: _translate(images, x, 1), 0.0, 150 / 331, True),
    "rotate": (_rotate, 0.0, 30.0, True),
    "brightness": (lambda images, x: _colour.brightness(images, 1 + x), 0.0, 0.9, True),
    "color": (_flat(lambda images, x: _colour.saturation(images, 1 + x)), 0.0, 0.9, True),
    "contrast": (lambda images, x: _colour.contrast(images, 1 + x), 0.0, 0.9, True),
    "sharpness": (lambda images, x: _sharpness(images, 1 + x), 0.0, 0.9, True),
    "posterize": (_posterize, 8.0, 4.0, False),
    "solarize": (_solarize, 1.0, 0.0, False),
    "autocontrast": (_autocontrast, 0.0, 0.0, False),
    "equalize": (_equalize, 0.0, 0.0, False),
}


class RandAugment(Transform):
    """``num_ops`` random operations on each image, of strength ``magnitude`` out of 30.

    The operations are those of Cubuk et al., "RandAugment" (2019): shears, translations, rotation,
    brightness, colour, contrast, sharpness, posterize, solarize, autocontrast, equalize, and none.

    >>> RandAugment(2, 9)(genesis.rand(4, 3, 32, 32)).shape
    genesis.Size([4, 3, 32, 32])
    """

    OPERATIONS = tuple(_OPERATIONS)

    def __init__(
        self, num_ops: int = 2, magnitude: float = 9, generator: Generator | None = None
    ) -> None:
        if type(num_ops) is not int or num_ops < 0:
            raise ValueError(f"RandAugment: num_ops must be an int from 0, got {num_ops!r}")
        if not 0 <= magnitude <= 30:
            raise ValueError(f"RandAugment: magnitude must be from 0 to 30, got {magnitude!r}")
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.generator = generator

    def apply(self, images: Tensor) -> Tensor:
        if images.shape[1] not in (1, 3):
            raise ValueError(
                f"RandAugment: expected 1 or 3 channels, got shape {tuple(images.shape)}"
            )
        n = images.shape[0]
        found = as_float(images)
        found = found.clone() if found is images else found
        names = list(_OPERATIONS)
        for _ in range(self.num_ops):
            choices = _C.tensor(self.integers(n, len(names)), dtype=_C.int64)
            signs = self.uniform(n) < 0.5
            for k in sorted(set(choices.tolist())):  # all images of an operation at once
                rows = (choices == k).nonzero().flatten()
                found[rows] = self._run(names[k], found[rows], signs[rows])
        return as_before(found.clamp(0, 1), images)

    def _run(self, name: str, images: Tensor, negative: Tensor) -> Tensor:
        operation, none, full, signed = _OPERATIONS[name]
        values = _C.full((len(images),), none + (full - none) * self.magnitude / 30)
        if signed:
            values = _C.where(negative, -values, values)
        return operation(images, values)
