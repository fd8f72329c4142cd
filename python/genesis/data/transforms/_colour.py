"""Transforms of colour. Images have three channels: red, green, blue."""

from __future__ import annotations

from collections.abc import Callable

from genesis import _C
from genesis._C import Generator, Tensor
from genesis.data.transforms._base import Transform, as_before, as_float, per_image

_LUMA = (0.299, 0.587, 0.114)  # of ITU-R BT.601, as Pillow and PyTorch have it


def grey(images: Tensor) -> Tensor:
    """The brightness of floating images (N, 3, H, W), as (N, 1, H, W)."""
    weights = _C.tensor(_LUMA, dtype=images.dtype).reshape(1, 3, 1, 1)
    found: Tensor = (images * weights).sum(1, keepdim=True)
    return found


def blend(images: Tensor, other: Tensor, factor: Tensor) -> Tensor:
    """From ``other`` (factor 0) over the images (1) and beyond, within 0 and 1."""
    mixed: Tensor = other + per_image(factor) * (images - other)
    return mixed.clamp(0, 1)


def brightness(images: Tensor, factor: Tensor) -> Tensor:
    return blend(images, _C.zeros_like(images), factor)


def contrast(images: Tensor, factor: Tensor) -> Tensor:
    mean = (grey(images) if images.shape[1] == 3 else images).mean((1, 2, 3), keepdim=True)
    return blend(images, mean.expand(images.shape), factor)


def saturation(images: Tensor, factor: Tensor) -> Tensor:
    return blend(images, grey(images).expand(images.shape), factor)


def hue(images: Tensor, shift: Tensor) -> Tensor:
    """Colours turned by a share of the circle: 1/3 makes red green."""
    high, low = images.amax(1), images.amin(1)
    span = high - low
    red, green, blue = images.unbind(1)
    safe = _C.where(span > 0, span, _C.ones_like(span))
    place = _C.where(
        high == red,
        (green - blue) / safe,
        _C.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    place = (place / 6 + shift.reshape(-1, 1, 1)) % 1.0
    # Each channel is a trapezoid of the angle, moved by a third: high near its own colour.
    channels = []
    for offset in (5.0, 3.0, 1.0):
        k = (offset + place * 6) % 6
        share = _C.minimum(k, 4 - k).clamp(0, 1)
        channels.append(high - span * share)
    return _C.stack(channels, 1)


def _range(name: str, value: float | tuple[float, float], around: float) -> tuple[float, float]:
    """The limits of a factor: a number is how far it may be from 1 (or from 0, for hues)."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"ColorJitter: {name} must not be negative, got {value!r}")
        low, high = around - value, around + value
        value = (max(low, 0.0) if around else low, high)
    low, high = value
    if not low <= high or (around and low < 0) or (not around and (low < -0.5 or high > 0.5)):
        limits = "0 or more" if around else "between -0.5 and 0.5"
        raise ValueError(f"ColorJitter: {name} must be (low, high), {limits}, got {value!r}")
    return low, high


def require_colours(name: str, images: Tensor) -> None:
    if images.shape[1] != 3:
        raise ValueError(f"{name}: expected 3 channels, got shape {tuple(images.shape)}")


class ColorJitter(Transform):
    """Random changes of brightness, contrast, saturation and hue, in random order.

    A number is how far a factor may be from 1 (a share of the circle for hues), a pair its limits.

    >>> ColorJitter(0.4, 0.4, 0.4, 0.1)(genesis.rand(8, 3, 16, 16)).shape
    genesis.Size([8, 3, 16, 16])
    """

    def __init__(
        self,
        brightness: float | tuple[float, float] = 0.0,
        contrast: float | tuple[float, float] = 0.0,
        saturation: float | tuple[float, float] = 0.0,
        hue: float | tuple[float, float] = 0.0,
        generator: Generator | None = None,
    ) -> None:
        self.brightness = _range("brightness", brightness, 1.0)
        self.contrast = _range("contrast", contrast, 1.0)
        self.saturation = _range("saturation", saturation, 1.0)
        self.hue = _range("hue", hue, 0.0)
        self.generator = generator

    def apply(self, images: Tensor) -> Tensor:
        require_colours("ColorJitter", images)
        changes: list[tuple[Callable[[Tensor, Tensor], Tensor], tuple[float, float], float]] = [
            (brightness, self.brightness, 1.0),
            (contrast, self.contrast, 1.0),
            (saturation, self.saturation, 1.0),
            (hue, self.hue, 0.0),
        ]
        found = as_float(images)
        for k in _C.randperm(4, generator=self.generator).tolist():
            change, (low, high), nothing = changes[k]
            if (low, high) != (nothing, nothing):
                found = change(found, self.uniform(images.shape[0], low, high).to(found.dtype))
        return as_before(found, images)


class Grayscale(Transform):
    """The brightness of colours, in one channel or repeated in three.

    >>> Grayscale()(genesis.ones(3, 2, 2)).shape
    genesis.Size([1, 2, 2])
    """

    def __init__(self, channels: int = 1) -> None:
        if channels not in (1, 3):
            raise ValueError(f"Grayscale: channels must be 1 or 3, got {channels!r}")
        self.channels = channels

    def apply(self, images: Tensor) -> Tensor:
        require_colours("Grayscale", images)
        found = as_before(grey(as_float(images)), images)
        return found.expand(-1, self.channels, -1, -1) if self.channels == 3 else found
