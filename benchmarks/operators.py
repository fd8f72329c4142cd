"""Operators beside PyTorch's, in one process: time per call and the ratio.

    pip install torch==2.13.0 && python benchmarks/operators.py [--only REGEX] [--threads N]

A ratio below 1 says that Genesis is faster. Both run the same lines, in turn, and the best of many
short rounds counts, since noise only ever adds.
"""

import argparse
import re
import time
from collections.abc import Callable
from typing import Any

import genesis
import numpy as np
import torch

Run = Callable[[], Any]
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


def best(run: Run, clock: Callable[[], float], seconds: float) -> float:
    """The best time of a call in about `seconds` of measuring."""
    run()
    start = clock()
    run()
    calls = max(1, int(0.002 / max(clock() - start, 1e-7)))
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = clock()
        for _ in range(calls):
            run()
        shortest = min(shortest, (clock() - start) / calls)
    return shortest


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--only", default="", help="a regular expression for the names of workloads"
    )
    parser.add_argument("--threads", type=int, help="for both libraries; 1 also times by CPU time")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.1, help="per round and library")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
        genesis.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter

    ours, theirs = workloads(genesis), workloads(torch)
    print(
        f"{'':34} {'torch':>10} {'genesis':>10}   ratio   (us; {genesis.get_num_threads()} threads)"
    )
    for name, run in ours.items():
        if not re.search(options.only, name):
            continue
        torch_time = genesis_time = float("inf")
        for _ in range(options.rounds):
            torch_time = min(torch_time, best(theirs[name], clock, options.seconds))
            genesis_time = min(genesis_time, best(run, clock, options.seconds))
        print(f"{name:34} {torch_time * 1e6:10.2f} {genesis_time * 1e6:10.2f}   "
              f"{genesis_time / torch_time:5.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
