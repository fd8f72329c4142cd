"""Operators beside PyTorch's, in one process: time per call and the ratio.

    pip install torch==2.13.0 && python benchmarks/operators.py [--only REGEX] [--threads N]

A ratio below 1 says that Genesis is faster.
"""

from typing import Any

import compare
import genesis
import numpy as np
import torch
from compare import Run

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype="float32")


SMALL, OTHER, TALL = normal(8, 8), normal(8, 8), normal(100, 8)
LONG, LONG2, SQUARE = normal(1 << 20), normal(1 << 20), normal(1024, 1024)
MATRICES = {n: (normal(n, n), normal(n, n)) for n in (16, 64, 128, 256, 512, 1024, 2048)}
BATCHES = normal(32, 128, 64), normal(32, 64, 128)
TABLE, ROWS = normal(10000, 128), RNG.integers(0, 10000, 4096)


def workloads(lib: Any) -> dict[str, Run]:
    """The same closures for torch and for genesis."""
    t = lib.tensor
    f = lib.nn.functional
    a, b, tall, leaf = t(SMALL), t(OTHER), t(TALL), t(SMALL).requires_grad_(True)
    x, y, square = t(LONG), t(LONG2), t(SQUARE)
    column, row, big = t(normal(1024, 1)), t(normal(1, 1024)), t(normal(2048, 2048))
    table, rows, mask = t(TABLE), t(ROWS), t(LONG > 0)
    left, right = map(t, BATCHES)
    shrink = b * 0.1

    def chain() -> None:
        leaf.grad = None
        z = leaf
        for _ in range(100):
            z = z * shrink + shrink
        z.sum().backward()

    runs: dict[str, Run] = {
        "add 8x8": lambda: a + b,
        "add 8x8 and a number": lambda: a + 1.0,
        "mul 8x8 with grad": lambda: leaf * b,
        "x[i]": lambda: tall[5],
        "x.sum() 8x8": lambda: a.sum(),
        "x.view() 8x8": lambda: a.view(4, 16),
        "200 ops forward and backward": chain,
        "add 1M": lambda: x + y,
        "mul 1M": lambda: x * y,
        "exp 1M": lambda: x.exp(),
        "tanh 1M": lambda: x.tanh(),
        "sigmoid 1M": lambda: x.sigmoid(),
        "gelu 1M": lambda: f.gelu(x),
        "where 1M": lambda: lib.where(mask, x, y),
        "broadcast add 1024x1024": lambda: column + row,
        "sum 1M": lambda: x.sum(),
        "mean 1M": lambda: x.mean(),
        "max 1M": lambda: x.max(),
        "sum dim 0 1024x1024": lambda: square.sum(0),
        "sum dim 1 1024x1024": lambda: square.sum(1),
        "softmax 1024x1024": lambda: f.softmax(square, dim=-1),
        "cumsum 1024x1024": lambda: square.cumsum(1),
        "transpose and copy 2048x2048": lambda: big.transpose(0, 1).contiguous(),
        "gather 4096 rows of 128": lambda: lib.index_select(table, 0, rows),
        "sort 1M": lambda: lib.sort(x)[0],
        "topk 100 of 1M": lambda: lib.topk(x, 100)[0],
        "batched matmul 32x128x64x128": lambda: left @ right,
    }
    for n, (p, q) in MATRICES.items():
        p, q = t(p), t(q)
        runs[f"matmul {n}"] = lambda p=p, q=q: p @ q
        runs[f"matmul {n}, second transposed"] = lambda p=p, q=q: p @ q.transpose(0, 1)
    return runs


def main() -> None:
    ours, theirs = workloads(genesis), workloads(torch)
    made = {genesis: ours, torch: theirs}
    compare.main(
        __doc__,
        [compare.Work("", name, lambda lib, name=name: made[lib][name]) for name in ours],
    )


if __name__ == "__main__":
    main()
