"""Mixtures of the images of a batch, with labels to match."""

from __future__ import annotations

import math
from typing import Any

from genesis import _C
from genesis._C import Generator, Tensor
from genesis.data.sampler import draw_seed
from genesis.nn import functional as F


class _Mixture:
    """Takes a batch of images and labels, and returns images and shares of classes."""

    def __init__(
        self, num_classes: int, alpha: float = 1.0, p: float = 1.0,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        self.name = type(self).__name__
        if type(num_classes) is not int or num_classes < 2:
            raise ValueError(f"{self.name}: num_classes must be an int from 2, got {num_classes!r}")
        if not alpha > 0:
            raise ValueError(f"{self.name}: alpha must be positive, got {alpha!r}")
        if not 0 <= p <= 1:
            raise ValueError(f"{self.name}: p must be between 0 and 1, got {p!r}")
        self.num_classes = num_classes
        self.alpha = alpha
        self.p = p
        self.generator = generator

    def __call__(self, images: Any, labels: Any = None) -> tuple[Tensor, Tensor]:
        if labels is None and isinstance(images, (tuple, list)) and len(images) == 2:
            images, labels = images
        if not isinstance(images, Tensor) or not isinstance(labels, Tensor):
            raise TypeError(f"{self.name}: expected a batch of images and their labels")
        if images.ndim != 4 or len(images) != len(labels) or not images.is_floating_point():
            raise ValueError(
                f"{self.name}: expected floating images (N, C, H, W) and N labels, got "
                f"{images.dtype} of {tuple(images.shape)} and {tuple(labels.shape)}"
            )
        shares = labels.float() if labels.ndim == 2 else F.one_hot(labels.long(), self.num_classes)
        shares = shares.float()
        if float(_C.rand((), generator=self.generator)) >= self.p:
            return images, shares
        order = _C.randperm(len(images), generator=self.generator)
        images, weight = self._mix(images, images[order])
        return images, weight * shares + (1 - weight) * shares[order]

    def _weight(self) -> float:
        """A draw of the Beta distribution."""
        import numpy as np

        return float(np.random.default_rng(draw_seed(self.generator)).beta(self.alpha, self.alpha))

    def _mix(self, images: Tensor, others: Tensor) -> tuple[Tensor, float]:
        raise NotImplementedError


class MixUp(_Mixture):
    """Weighted means of pairs of images of a batch, and of their classes.

    The weight comes from Beta(``alpha``, ``alpha``). Labels come out as shares of classes (N,
    num_classes), which `cross_entropy` takes. With probability ``1 - p`` images stay.

    >>> mixup = MixUp(num_classes=3, alpha=0.2)
    >>> images, shares = mixup(genesis.rand(4, 3, 8, 8), genesis.tensor([0, 1, 2, 0]))
    >>> shares.sum(1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def _mix(self, images: Tensor, others: Tensor) -> tuple[Tensor, float]:
        weight = self._weight()
        return weight * images + (1 - weight) * others, weight


class CutMix(_Mixture):
    """A random rectangle of each image is replaced by that of another; classes count by area.

    The arguments and results are those of `MixUp`.

    >>> images, shares = CutMix(num_classes=2)(genesis.rand(2, 1, 8, 8), genesis.tensor([0, 1]))
    >>> tuple(images.shape), tuple(shares.shape)
    ((2, 1, 8, 8), (2, 2))
    """

    def _mix(self, images: Tensor, others: Tensor) -> tuple[Tensor, float]:
        height, width = images.shape[-2:]
        side = math.sqrt(1 - self._weight())
        y, x = _C.rand(2, generator=self.generator).tolist()
        top, bottom = _span(y, side, height)
        left, right = _span(x, side, width)
        images = images.clone()
        images[:, :, top:bottom, left:right] = others[:, :, top:bottom, left:right]
        return images, 1 - (bottom - top) * (right - left) / (height * width)


def _span(middle: float, side: float, size: int) -> tuple[int, int]:
    low, half = int(middle * size), int(side * size / 2)
    return max(0, low - half), min(size, low + half)
