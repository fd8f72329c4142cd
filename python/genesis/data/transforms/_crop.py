"""Transforms of place: sizes, crops, flips."""

from __future__ import annotations

import math
from collections.abc import Sequence

from genesis import _C
from genesis._C import Generator, Tensor
from genesis.data.transforms._base import (
    Transform,
    as_before,
    as_float,
    pair,
    per_image,
    probability,
)
from genesis.nn import functional as F


def resized(images: Tensor, size: tuple[int, int], mode: str) -> Tensor:
    """Images of another size; smaller ones are averaged rather than picked (antialias)."""
    if tuple(images.shape[-2:]) == size:
        return images
    smooth = mode in ("bilinear", "bicubic")
    options = {"antialias": True, "align_corners": False} if smooth else {}
    found = F.interpolate(as_float(images), size, mode=mode, **options)
    return as_before(found.clamp(0, 1) if mode == "bicubic" else found, images)


def _mode(name: str, mode: str) -> str:
    if mode not in ("nearest", "bilinear", "bicubic"):
        raise ValueError(f'{name}: mode must be "nearest", "bilinear" or "bicubic", got {mode!r}')
    return mode


class Resize(Transform):
    """Images of a size (height, width); one number is the length of the shorter side.

    >>> Resize(8)(genesis.rand(3, 16, 32)).shape
    genesis.Size([3, 8, 16])
    """

    def __init__(self, size: int | Sequence[int], mode: str = "bilinear") -> None:
        pair("Resize", "size", size)
        self.size = size
        self.mode = _mode("Resize", mode)

    def apply(self, images: Tensor) -> Tensor:
        if isinstance(self.size, int):
            h, w = images.shape[-2:]
            scale = self.size / min(h, w)
            size = (max(1, round(h * scale)), max(1, round(w * scale)))
        else:
            size = (self.size[0], self.size[1])
        return resized(images, size, self.mode)


class Pad(Transform):
    """Images with a border of ``padding`` pixels, filled with ``fill``, or by reflection.

    >>> Pad(2)(genesis.zeros(1, 4, 4)).shape
    genesis.Size([1, 8, 8])
    """

    def __init__(self, padding: int, fill: float = 0.0, mode: str = "constant") -> None:
        if type(padding) is not int or padding < 0:
            raise ValueError(f"Pad: padding must be an int from 0, got {padding!r}")
        if mode not in ("constant", "reflect", "replicate"):
            raise ValueError(
                f'Pad: mode must be "constant", "reflect" or "replicate", got {mode!r}'
            )
        self.padding = padding
        self.fill = fill
        self.mode = mode

    def apply(self, images: Tensor) -> Tensor:
        sides = (self.padding,) * 4
        if self.mode == "constant":
            return F.pad(images, sides, value=self.fill)
        return as_before(F.pad(as_float(images), sides, mode=self.mode), images)


def _fits(name: str, images: Tensor, size: tuple[int, int]) -> None:
    if images.shape[-2] < size[0] or images.shape[-1] < size[1]:
        raise ValueError(
            f"{name}: a crop of {size[0]}x{size[1]} is larger than the images of "
            f"{images.shape[-2]}x{images.shape[-1]}; pad or resize them first"
        )


class CenterCrop(Transform):
    """The middle of an image.

    >>> CenterCrop(2)(genesis.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  6.],
             [ 9., 10.]]])
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        self.size = pair("CenterCrop", "size", size)

    def apply(self, images: Tensor) -> Tensor:
        _fits("CenterCrop", images, self.size)
        (h, w), (height, width) = self.size, images.shape[-2:]
        top, left = (height - h) // 2, (width - w) // 2
        return images[:, :, top : top + h, left : left + w]


class RandomCrop(Transform):
    """A random part of an image, after a border of ``padding`` pixels was added.

    >>> RandomCrop(4, padding=1)(genesis.rand(5, 3, 4, 4)).shape
    genesis.Size([5, 3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int = 0,
        fill: float = 0.0,
        mode: str = "constant",
        generator: Generator | None = None,
    ) -> None:
        self.size = pair("RandomCrop", "size", size)
        self.padding = padding
        self._pad = Pad(padding, fill, mode)
        self.generator = generator

    def apply(self, images: Tensor) -> Tensor:
        images = self._pad.apply(images) if self.padding else images
        _fits("RandomCrop", images, self.size)
        (h, w), (n, _, height, width) = self.size, images.shape
        tops, lefts = self.integers(n, height - h + 1), self.integers(n, width - w + 1)
        if n == 0:
            return images[:, :, :h, :w]
        places = enumerate(zip(tops, lefts, strict=True))
        return _C.stack([images[i, :, t : t + h, x : x + w] for i, (t, x) in places])


class RandomResizedCrop(Transform):
    """A random part of an image, resized: of a share ``scale`` of its area, with sides ``ratio``.

    >>> RandomResizedCrop(8)(genesis.rand(3, 20, 30)).shape
    genesis.Size([3, 8, 8])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        mode: str = "bilinear",
        generator: Generator | None = None,
    ) -> None:
        self.size = pair("RandomResizedCrop", "size", size)
        for name, (low, high) in (("scale", scale), ("ratio", ratio)):
            if not 0 < low <= high:
                raise ValueError(
                    f"RandomResizedCrop: {name} must be (low, high), got {(low, high)}"
                )
        self.scale = scale
        self.ratio = ratio
        self.mode = _mode("RandomResizedCrop", mode)
        self.generator = generator

    def apply(self, images: Tensor) -> Tensor:
        n = images.shape[0]
        draws = _C.rand(n, 4, generator=self.generator).tolist()
        parts = [self._part(images[i : i + 1], *draws[i]) for i in range(n)]
        return _C.cat(parts) if parts else resized(images, self.size, self.mode)

    def _part(self, image: Tensor, area: float, shape: float, top: float, left: float) -> Tensor:
        height, width = image.shape[-2:]
        low, high = (math.log(r) for r in self.ratio)
        ratio = math.exp(low + (high - low) * shape)
        share = self.scale[0] + (self.scale[1] - self.scale[0]) * area
        h = min(height, max(1, round(math.sqrt(height * width * share / ratio))))
        w = min(width, max(1, round(math.sqrt(height * width * share * ratio))))
        t, x = int(top * (height - h + 1)), int(left * (width - w + 1))
        return resized(image[:, :, t : t + h, x : x + w], self.size, self.mode)


class _Flip(Transform):
    dim: int

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        self.p = probability(type(self).__name__, p)
        self.generator = generator

    def apply(self, images: Tensor) -> Tensor:
        chosen = per_image(self.uniform(images.shape[0])) < self.p
        flipped: Tensor = _C.where(chosen, images.flip(self.dim), images)
        return flipped


class RandomHorizontalFlip(_Flip):
    """Images with left and right exchanged, each with probability ``p``.

    >>> RandomHorizontalFlip(p=1.0)(genesis.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1.]]])
    """

    dim = -1


class RandomVerticalFlip(_Flip):
    """Images with top and bottom exchanged, each with probability ``p``.

    >>> RandomVerticalFlip(p=1.0)(genesis.tensor([[[1.0], [2.0]]]))
    tensor([[[2.],
             [1.]]])
    """

    dim = -2


class RandomErasing(Transform):
    """Images of which a random rectangle is replaced by ``value``, each with probability ``p``.

    >>> erase = RandomErasing(p=1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0))
    >>> erase(genesis.ones(1, 4, 4)).sum().item()
    12.0
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: float = 0.0,
        generator: Generator | None = None,
    ) -> None:
        self.p = probability("RandomErasing", p)
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.generator = generator

    def apply(self, images: Tensor) -> Tensor:
        n, _, height, width = images.shape
        images = images.clone()
        low, high = (math.log(r) for r in self.ratio)
        draws = _C.rand(n, 5, generator=self.generator).tolist()
        for i, (chance, area, shape, top, left) in enumerate(draws):
            if chance >= self.p:
                continue
            share = self.scale[0] + (self.scale[1] - self.scale[0]) * area
            ratio = math.exp(low + (high - low) * shape)
            h = min(height, max(1, round(math.sqrt(height * width * share / ratio))))
            w = min(width, max(1, round(math.sqrt(height * width * share * ratio))))
            t, x = int(top * (height - h + 1)), int(left * (width - w + 1))
            images[i, :, t : t + h, x : x + w] = self.value
        return images
