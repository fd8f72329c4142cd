"""Attention beside PyTorch's, over shapes.

python benchmarks/attention.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
SHAPES = [  # batch, heads, queries, keys, dim
    (12, 4, 64, 64, 32), (4, 8, 256, 256, 64), (1, 8, 1024, 1024, 64), (2, 4, 128, 128, 128),
    (32, 8, 32, 32, 64), (8, 4, 100, 100, 24), (1, 1, 2048, 2048, 64), (4, 8, 1, 512, 64),
    (2, 8, 77, 300, 40), (16, 12, 197, 197, 64), (2, 16, 512, 512, 64), (64, 2, 50, 50, 16),
    (1, 32, 128, 640, 128), (3, 5, 333, 333, 80), (1, 2, 4096, 4096, 32),
]  # fmt: skip


def work(shape: tuple[int, ...], kind: str, backward: bool) -> Callable[[Any], compare.Run]:
    batch, heads, n, m, d = shape
    arrays = [
        RNG.standard_normal((batch, heads, rows, d), dtype="float32") for rows in (n, m, m, n)
    ]
    seen = RNG.random((n, m)) > 0.3

    def make(lib: Any) -> compare.Run:
        q, k, v, seed = (lib.tensor(a) for a in arrays)
        mask = lib.tensor(seen) if kind == "mask" else None
        if backward:
            for leaf in (q, k, v):
                leaf.requires_grad_(True)
        f = lib.nn.functional.scaled_dot_product_attention

        def call() -> Any:
            return f(q, k, v, mask, is_causal=kind == "causal")

        return compare.forward_and_backward(call, [q, k, v], seed) if backward else call

    return make


def workloads() -> list[compare.Work]:
    made = []
    for s in SHAPES:
        for kind in ("full", "causal", "mask"):
            batch, heads, n, m, d = s
            # Two products forward; five backward, which makes the weights again.
            pairs = batch * heads * (n * m - n * (n - 1) / 2 if kind == "causal" else n * m)
            for backward in (False, True):
                name = compare.shape(*s) + (" +backward" if backward else "")
                flops = 2 * d * pairs * (7 if backward else 2)
                if kind == "full" or n > 1:
                    made.append(compare.Work(kind, name, work(s, kind, backward), flops))
    return sorted(made, key=lambda line: ("full", "causal", "mask").index(line.group))


if __name__ == "__main__":
    compare.main(__doc__, workloads())
