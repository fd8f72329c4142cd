"""The handwritten digits that are included in the package; README.md here states their source."""

from __future__ import annotations

import zlib
from pathlib import Path

import genesis
from genesis import Tensor

COUNT = 1797
TRAIN = 1437  # the last fifth is for testing


def digits() -> tuple[Tensor, Tensor]:
    """All images, (1797, 1, 8, 8) from 0 to 1, and their labels.

    >>> images, labels = digits()
    >>> tuple(images.shape), labels[:10].tolist()
    ((1797, 1, 8, 8), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    packed = (Path(__file__).parent / "digits.bin").read_bytes()
    data = genesis.frombuffer(bytearray(zlib.decompress(packed)), dtype=genesis.uint8)
    labels, planes = data[:COUNT], data[COUNT:].reshape(64, COUNT)
    return planes.t().reshape(COUNT, 1, 8, 8).float() / 16, labels.long()
