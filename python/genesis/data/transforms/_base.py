"""What all transforms share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Generator, Tensor


class Transform:
    """Base class: a subclass defines ``apply`` for a batch (N, C, H, W).

    Calling it takes a batch or a single image (C, H, W).

    >>> class Negative(Transform):
    ...     def apply(self, images):
    ...         return 1 - images
    >>> Negative()(genesis.zeros(1, 2, 2)).sum().item()
    4.0
    """

    generator: Generator | None = None

    def apply(self, images: Tensor) -> Tensor:
        """Change a batch of images."""
        raise NotImplementedError(f"{type(self).__name__} does not define apply")

    def __call__(self, image: Tensor) -> Tensor:
        name = type(self).__name__
        if not isinstance(image, Tensor):
            raise TypeError(
                f"{name}: expected a tensor (C, H, W) or (N, C, H, W), got {type(image).__name__}; "
                "ToTensor() makes tensors of Pillow images and arrays"
            )
        if image.ndim not in (3, 4):
            raise ValueError(
                f"{name}: expected an image (C, H, W) or a batch (N, C, H, W), got shape "
                f"{tuple(image.shape)}"
            )
        if image.ndim == 4:
            return self.apply(image)
        return self.apply(image.unsqueeze(0))[0]

    def uniform(self, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Random numbers, one for each image."""
        drawn: Tensor = low + (high - low) * _C.rand(count, generator=self.generator)
        return drawn

    def integers(self, count: int, end: int) -> list[int]:
        """Random integers from 0 to ``end - 1``, one for each image."""
        drawn = _C.randint(0, end, (count,), generator=self.generator)
        return [int(i) for i in drawn.tolist()]

    def __repr__(self) -> str:
        shown = {k: v for k, v in vars(self).items() if k != "generator" and not k.startswith("_")}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


def as_float(images: Tensor) -> Tensor:
    """Images from 0 to 1."""
    return images if images.is_floating_point() else images.float() / 255


def as_before(images: Tensor, before: Tensor) -> Tensor:
    """Images from 0 to 1 in the dtype that they had."""
    if before.is_floating_point():
        return images.to(before.dtype)
    return (images * 255).round().clamp(0, 255).to(before.dtype)


def per_image(values: Tensor) -> Tensor:
    """Numbers of images in a shape that fits a batch."""
    return values.reshape(-1, 1, 1, 1)


def pair(name: str, argument: str, value: int | Sequence[int]) -> tuple[int, int]:
    """Height and width from one number or two."""
    found = (value, value) if isinstance(value, int) else tuple(value)
    if len(found) != 2 or not all(type(v) is int and v > 0 for v in found):
        raise ValueError(f"{name}: {argument} must be one or two positive ints, got {value!r}")
    return found[0], found[1]


def probability(name: str, p: float) -> float:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: p must be between 0 and 1, got {p!r}")
    return p


class Compose:
    """Transforms one after the other.

    >>> Compose([Normalize([1.0], [2.0]), Normalize([0.0], [0.5])])(genesis.full((1, 1, 1), 2.0))
    tensor([[[1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        for transform in transforms:
            if not callable(transform):
                raise TypeError(f"Compose: {transform!r} is not a transform: it is not callable")
        self.transforms = list(transforms)

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        return f"Compose({self.transforms!r})"


class ToTensor:
    """A Pillow image or an array (H, W) or (H, W, C) as a float32 tensor (C, H, W).

    uint8 values are scaled to 0 to 1; others stay. A tensor keeps the order of its dimensions.

    >>> import numpy
    >>> ToTensor()(numpy.full((2, 3, 1), 255, dtype="uint8")).shape
    genesis.Size([1, 2, 3])
    """

    def __call__(self, image: Any) -> Tensor:
        import numpy as np

        if isinstance(image, Tensor):
            return as_float(image)
        array = np.asarray(image)
        if array.ndim not in (2, 3) or array.dtype.kind not in "uifb":
            raise TypeError(
                "ToTensor: expected a Pillow image or an array (H, W) or (H, W, C), got "
                f"{type(image).__name__} of shape {array.shape}"
            )
        array = array[:, :, None] if array.ndim == 2 else array
        found = _C.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
        return found.float() / 255 if array.dtype == np.uint8 else found.float()

    def __repr__(self) -> str:
        return "ToTensor()"


class Normalize(Transform):
    """``(image - mean) / std``, with a mean and a standard deviation for each channel.

    A uint8 image is scaled to 0 to 1 first.

    >>> Normalize([0.5], [0.5])(genesis.tensor([[[0.0, 1.0]]]))
    tensor([[[-1.,  1.]]])
    """

    def __init__(self, mean: Sequence[float] | float, std: Sequence[float] | float) -> None:
        self.mean = [float(m) for m in ([mean] if isinstance(mean, (int, float)) else mean)]
        self.std = [float(s) for s in ([std] if isinstance(std, (int, float)) else std)]
        if len(self.mean) != len(self.std) or not all(s > 0 for s in self.std):
            raise ValueError(
                f"Normalize: expected as many means as positive deviations, got {mean!r}, {std!r}"
            )
        self._mean = _C.tensor(self.mean).reshape(-1, 1, 1)
        self._scale = 1 / _C.tensor(self.std).reshape(-1, 1, 1)

    def apply(self, images: Tensor) -> Tensor:
        if len(self.mean) not in (1, images.shape[1]):
            raise ValueError(
                f"Normalize: {len(self.mean)} means do not fit the {images.shape[1]} channels of "
                f"shape {tuple(images.shape)}"
            )
        images = as_float(images)
        changed: Tensor = (images - self._mean.to(images.dtype)) * self._scale.to(images.dtype)
        return changed
