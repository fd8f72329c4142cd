"""Normalisation beside PyTorch's, over shapes.

python benchmarks/norm.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
ROWS = [
    (768, 128), (64, 512), (1024, 1024), (4096, 256), (32, 4096), (8192, 64), (512, 768),
    (3, 100003), (1000, 100), (257, 33), (2048, 384), (16, 20000),
]  # fmt: skip
IMAGES = [
    (16, 64, 32, 32),
    (8, 32, 56, 56),
    (32, 128, 8, 8),
    (4, 512, 7, 7),
    (64, 16, 28, 28),
    (2, 96, 33, 35),
    (1, 24, 128, 128),
]
FLAT = [(64, 256), (32, 1024), (512, 100), (4096, 64), (128, 512, 4)]


def work(name: str, shape: tuple[int, ...], backward: bool) -> Callable[[Any], compare.Run]:
    arrays = [RNG.standard_normal(shape, dtype="float32") for _ in range(2)]
    size = shape[-1] if name in ("layer_norm", "rms_norm") else shape[1]
    params = [RNG.standard_normal(size, dtype="float32") for _ in range(2)]

    def make(lib: Any) -> compare.Run:
        f = getattr(lib.nn.functional, name)
        x, seed, w, b = (lib.tensor(a) for a in (*arrays, *params))
        leaves = [x, w] if name == "rms_norm" else [x, w, b]
        if backward:
            for leaf in leaves:
                leaf.requires_grad_(True)
        call = {
            "layer_norm": lambda: f(x, (size,), w, b),
            "rms_norm": lambda: f(x, (size,), w),
            "group_norm": lambda: f(x, min(8, size), w, b),
            "instance_norm": lambda: f(x, weight=w, bias=b),
            "batch_norm": lambda: f(x, None, None, w, b, training=True),
        }[name]
        return compare.forward_and_backward(call, leaves, seed) if backward else call

    return make


def workloads() -> list[compare.Work]:
    shapes = {
        "layer_norm": ROWS,
        "rms_norm": ROWS[:8],
        "group_norm": IMAGES,
        "instance_norm": IMAGES[:5],
        "batch_norm": IMAGES + FLAT,
    }
    # Forward reads x and writes y; backward reads x and dy and writes dx.
    return [
        compare.Work(
            name,
            compare.shape(*shape) + (" +backward" if backward else ""),
            work(name, shape, backward),
            bytes=4 * math.prod(shape) * (5 if backward else 2),
        )
        for name, some in shapes.items()
        for shape in some
        for backward in (False, True)
    ]


if __name__ == "__main__":
    compare.main(__doc__, workloads())
