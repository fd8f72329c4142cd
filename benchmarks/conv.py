"""Convolution beside PyTorch's, over shapes.

python benchmarks/conv.py [--only REGEX] [--threads N] [--plot FILE.svg]

Forward and each gradient alone; `last` is forward and backward with the channels last.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import compare
import numpy as np

RNG = np.random.default_rng(0)


class Conv(NamedTuple):
    batch: int
    channels: int
    size: tuple[int, ...]
    out: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    dilation: int = 1

    def __str__(self) -> str:
        text = (
            f"{compare.shape(self.batch, self.channels, *self.size)} k{self.kernel} to {self.out}"
        )
        for letter, value in (("s", self.stride), ("g", self.groups), ("d", self.dilation)):
            text += f" {letter}{value}" if value > 1 else ""
        return text

    def flops(self) -> float:
        span = (self.kernel - 1) * self.dilation + 1
        outputs = math.prod((n + 2 * self.padding - span) // self.stride + 1 for n in self.size)
        taps = self.kernel ** len(self.size)
        return 2 * self.batch * self.out * outputs * self.channels / self.groups * taps


def image(batch: int, channels: int, size: int, *rest: int) -> Conv:
    return Conv(batch, channels, (size, size), *rest)


CONVS = [
    # LeNet, ResNets of two sizes, VGG
    image(32, 1, 28, 6, 5, 1, 2), image(32, 6, 14, 16, 5), image(16, 3, 32, 32, 3, 1, 1),
    image(16, 32, 32, 32, 3, 1, 1), image(16, 32, 32, 64, 3, 2, 1), image(16, 64, 16, 64, 3, 1, 1),
    image(4, 3, 224, 64, 7, 2, 3), image(8, 64, 56, 64, 3, 1, 1), image(8, 64, 56, 128, 3, 2, 1),
    image(8, 128, 28, 128, 3, 1, 1), image(8, 256, 14, 256, 3, 1, 1),
    image(8, 512, 7, 512, 3, 1, 1),
    image(2, 64, 112, 128, 3, 1, 1), image(1, 3, 224, 64, 3, 1, 1), image(1, 512, 14, 512, 3, 1, 1),
    # 1x1
    image(8, 64, 56, 64, 1), image(8, 64, 56, 256, 1), image(8, 256, 56, 64, 1),
    image(8, 256, 14, 1024, 1), image(8, 1024, 14, 256, 1), image(8, 64, 56, 128, 1, 2),
    image(8, 512, 7, 2048, 1), image(1, 32, 100, 16, 1), image(4, 24, 28, 144, 1),
    image(1, 16, 9, 16, 1),
    # depthwise and grouped
    image(8, 64, 56, 64, 3, 1, 1, 64), image(8, 32, 112, 32, 3, 1, 1, 32),
    image(8, 128, 28, 128, 3, 2, 1, 128), image(8, 256, 14, 256, 5, 1, 2, 256),
    image(8, 96, 56, 96, 7, 1, 3, 96), image(8, 384, 14, 384, 7, 1, 3, 384),
    image(8, 512, 7, 512, 3, 1, 1, 512), image(8, 128, 28, 128, 3, 1, 1, 32),
    image(8, 256, 28, 256, 3, 1, 1, 8), image(8, 64, 28, 128, 3, 1, 1, 64),
    # odd sizes, large kernels, dilation, small images
    image(3, 17, 31, 23, 3, 1, 1), image(5, 33, 19, 47, 5, 1, 2), image(2, 16, 64, 16, 11, 1, 5),
    image(4, 32, 40, 32, 3, 1, 2, 1, 2), image(7, 20, 13, 50, 3, 2, 1),
    image(64, 64, 8, 64, 3, 1, 1),
    image(64, 128, 4, 128, 3, 1, 1), image(64, 256, 2, 256, 3, 1, 1), image(64, 64, 4, 128, 4),
    image(128, 16, 5, 120, 5), image(1, 8, 256, 8, 3, 1, 1), image(1, 1, 512, 1, 3, 1, 1),
    image(16, 3, 64, 192, 16, 16), image(1, 64, 64, 3, 3, 1, 1), image(100, 4, 20, 4, 3, 1, 1),
    # one and three dimensions
    Conv(16, 64, (256,), 64, 3, 1, 1), Conv(8, 1, (4000,), 32, 25, 4),
    Conv(32, 128, (50,), 256, 5, 1, 2),
    Conv(2, 16, (16, 24, 24), 32, 3, 1, 1), Conv(1, 3, (16, 56, 56), 24, 5, 2, 2),
]  # fmt: skip
LAST = [c for c in CONVS if len(c.size) == 2][::3]


def work(case: Conv, what: str) -> Callable[[Any], compare.Run]:
    shapes = [
        (case.batch, case.channels, *case.size),
        (case.out, case.channels // case.groups, *[case.kernel] * len(case.size)),
    ]
    arrays = [RNG.standard_normal(s, dtype="float32") for s in shapes]

    def make(lib: Any) -> compare.Run:
        conv = getattr(lib.nn.functional, f"conv{len(case.size)}d")
        options = case.stride, case.padding, case.dilation, case.groups
        x, w = (lib.tensor(a) for a in arrays)
        if what == "last":
            x, w = (t.to(memory_format=lib.channels_last) for t in (x, w))
        leaves = {"forward": [], "input": [x], "weight": [w], "last": [x, w]}[what]
        for leaf in leaves:
            leaf.requires_grad_(True)
        y = conv(x, w, None, *options)
        if what == "forward":
            return lambda: conv(x, w, None, *options)
        seed = lib.ones_like(y.detach())
        if what == "last":
            return compare.forward_and_backward(lambda: conv(x, w, None, *options), leaves, seed)
        return lambda: lib.autograd.grad(y, leaves, seed, retain_graph=True)

    return make


def workloads() -> list[compare.Work]:
    return [
        compare.Work(
            what, str(case), work(case, what), flops=case.flops() * (3 if what == "last" else 1)
        )
        for what, cases in (("forward", CONVS), ("input", CONVS), ("weight", CONVS), ("last", LAST))
        for case in cases
    ]


if __name__ == "__main__":
    compare.main(__doc__, workloads())
