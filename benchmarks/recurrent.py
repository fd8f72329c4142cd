"""Recurrent layers beside PyTorch's, over shapes.

python benchmarks/recurrent.py [--only REGEX] [--threads N]
"""

from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
SHAPES = [  # steps, batch, inputs, hidden
    (32, 32, 64, 128), (100, 16, 32, 64), (20, 64, 128, 256), (50, 1, 64, 128),
    (10, 128, 100, 100), (200, 4, 16, 32),
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


def workloads() -> list[tuple[str, Callable[[Any], compare.Run]]]:
    made = []
    for name in ("LSTM", "GRU", "RNN"):
        for shape, options in [*((s, {}) for s in SHAPES), (SHAPES[0], DEEP)]:
            for backward in (False, True):
                title = (
                    f"{name} {'x'.join(map(str, shape))}{' 2 layers, 2 ways' if options else ''}"
                )
                title += " +backward" if backward else ""
                made.append((title, work(name, shape, backward, options)))
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
