"""Changes of images: crops, flips, colours, and mixtures of images.

Transforms take one image (C, H, W) or a batch (N, C, H, W), as uint8 from 0 to 255 or floating from
0 to 1, and return the same kind. In a batch every image gets random numbers of its own. Random
transforms draw from ``generator``, or from the default generator.

>>> from genesis.data import transforms
>>> augment = transforms.Compose([
...     transforms.RandomCrop(28, padding=2), transforms.RandomHorizontalFlip(),
...     transforms.Normalize([0.5], [0.25])])
>>> tuple(augment(genesis.rand(16, 1, 28, 28)).shape)
(16, 1, 28, 28)
"""

from genesis.data.transforms._augment import RandAugment
from genesis.data.transforms._base import Compose, Normalize, ToTensor, Transform
from genesis.data.transforms._colour import ColorJitter, Grayscale
from genesis.data.transforms._crop import (
    CenterCrop,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from genesis.data.transforms._mix import CutMix, MixUp

__all__ = [
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "CutMix",
    "Grayscale",
    "MixUp",
    "Normalize",
    "Pad",
    "RandAugment",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "ToTensor",
    "Transform",
]
