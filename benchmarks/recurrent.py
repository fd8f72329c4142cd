"""Recurrent layers beside PyTorch's, over shapes.

python benchmarks/recurrent.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
SHAPES = [  # steps, batch, inputs, hidden
    (32, 32, 64, 128), (100, 16, 32, 64), (20, 64, 128, 256), (50, 1, 64, 128),
    (10, 128, 100, 100), (200, 4, 16, 32), (64, 32, 256, 256), (35, 20, 200, 200),
    (1, 64, 128, 128), (500, 1, 8, 16), (28, 100, 28, 128), (7, 3, 33, 65), (12, 256, 64, 64),
]  # fmt: skip
DEEP = {"num_layers": 2, "bidirectional": True}


def work(
    name: str, shape: tuple[int, ...], backward: bool, options: dict[str, Any]
) -> Callable[[Any], compare.Run]:
    steps, batch, inputs, hidden = shape
    x0 = RNG.standard_normal((steps, batch, inputs), dtype="float32")

    def make(lib: Any) -> compare.Run:
        layer = getattr(lib.nn, name)(inputs, hidden, **options)
        x = lib.tensor(x0)
        if not backward:
            layer.requires_grad_(False)
            return lambda: layer(x)
        x.requires_grad_(True)
        seed = lib.ones(layer(x)[0].shape)
        return compare.forward_and_backward(lambda: layer(x)[0], [x, *layer.parameters()], seed)

    return make


def workloads() -> list[compare.Work]:
    made = []
    for name, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for sizes, options in [*((s, {}) for s in SHAPES), (SHAPES[0], DEEP)]:
            steps, batch, inputs, hidden = sizes
            widths = inputs + hidden
            if options:
                widths = 2 * (inputs + hidden) + 2 * (2 * hidden + hidden)
            flops = 2 * steps * batch * gates * hidden * widths
            for backward in (False, True):
                title = compare.shape(*sizes) + (" 2 layers, 2 ways" if options else "")
                title += " +backward" if backward else ""
                make = work(name, sizes, backward, options)
                made.append(compare.Work(name, title, make, flops * (3 if backward else 1)))
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
