"""Pooling beside PyTorch's, over shapes, in both layouts.

python benchmarks/pool.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
Case = tuple[tuple[int, ...], dict[str, Any]]
WINDOWS: list[Case] = [
    ((16, 64, 32, 32), dict(kernel_size=2)),
    ((32, 6, 28, 28), dict(kernel_size=2)),
    ((32, 16, 10, 10), dict(kernel_size=2)),
    ((4, 64, 112, 112), dict(kernel_size=3, stride=2, padding=1)),
    ((8, 64, 56, 56), dict(kernel_size=3, stride=1, padding=1)),
    ((8, 512, 7, 7), dict(kernel_size=7)),
    ((4, 32, 33, 33), dict(kernel_size=2)),
    ((1, 3, 224, 224), dict(kernel_size=5, stride=3, padding=2)),
    ((8, 192, 28, 28), dict(kernel_size=3, stride=1, padding=1)),
    ((2, 5, 19, 23), dict(kernel_size=3, stride=2)),
    ((64, 128, 8, 8), dict(kernel_size=2)),
    ((1, 1, 512, 512), dict(kernel_size=2)),
    ((8, 480, 14, 14), dict(kernel_size=3, stride=2, ceil_mode=True)),
    ((1, 256, 13, 13), dict(kernel_size=13, stride=1, padding=6)),
]
OTHERS: list[Case] = [
    ((32, 64, 128), dict(kernel_size=2)),
    ((16, 32, 1000), dict(kernel_size=5, stride=2, padding=2)),
    ((8, 128, 30), dict(kernel_size=30)),
    ((2, 16, 16, 28, 28), dict(kernel_size=2)),
    ((1, 32, 8, 28, 28), dict(kernel_size=3, stride=2, padding=1)),
    ((4, 8, 9, 15, 11), dict(kernel_size=3, stride=1)),
]
ADAPTIVE: list[Case] = [
    ((8, 512, 7, 7), dict(output_size=1)),
    ((16, 64, 32, 32), dict(output_size=1)),
    ((4, 256, 13, 13), dict(output_size=6)),
    ((8, 64, 30, 30), dict(output_size=7)),
    ((2, 32, 64, 64), dict(output_size=8)),
    ((8, 2048, 7, 7), dict(output_size=1)),
]


def work(
    name: str, shape: tuple[int, ...], options: dict[str, Any], last: bool, backward: bool
) -> Callable[[Any], compare.Run]:
    array = RNG.standard_normal(shape, dtype="float32")

    def make(lib: Any) -> compare.Run:
        pool = getattr(lib.nn.functional, f"{name}{len(shape) - 2}d")
        x = lib.tensor(array)
        if last:
            x = x.to(memory_format=lib.channels_last)
        x.requires_grad_(backward)

        def forward() -> Any:
            return pool(x, **options)

        if not backward:
            return forward
        return compare.forward_and_backward(forward, [x], lib.ones_like(forward().detach()))

    return make


def workloads() -> list[compare.Work]:
    lines = []
    for name, cases in (
        ("max_pool", WINDOWS + OTHERS), ("avg_pool", WINDOWS + OTHERS),
        ("adaptive_max_pool", ADAPTIVE), ("adaptive_avg_pool", ADAPTIVE),
    ):  # fmt: skip
        for last in (False, True):
            for shape, options in cases:
                if last and len(shape) != 4:
                    continue
                text = " ".join(f"{key[0]}{value}" for key, value in options.items())
                for backward in (False, True):
                    lines.append(
                        compare.Work(
                            name + (" last" if last else ""),
                            f"{compare.shape(*shape)} {text}" + (" +backward" if backward else ""),
                            work(name, shape, options, last, backward),
                            bytes=4 * math.prod(shape) * (2 if backward else 1),
                        )
                    )
    return lines


if __name__ == "__main__":
    compare.main(__doc__, workloads())
