"""Convolution and pooling beside PyTorch's, over many shapes: times, GFLOPS and ratios.

    pip install torch==2.13.0 && python benchmarks/conv.py [--only REGEX] [--threads N] [--rounds N]

A ratio below 1 says that Genesis is faster. Both run in one process, in turn, and the best of some
rounds counts, since noise only ever adds; with one thread the clock is the processor time of the
process, which other work on the machine disturbs least. The last lines are the geometric means and
the worst shape of each column, and the sweep drawn as bars.
"""

import argparse
import math
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import genesis
import numpy as np
import torch


class Conv(NamedTuple):
    batch: int
    channels: int
    size: int
    out: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1

    def __str__(self) -> str:
        more = f" s{self.stride}" if self.stride > 1 else ""
        more += f" g{self.groups}" if self.groups > 1 else ""
        return f"{self.batch}x{self.channels}x{self.size} k{self.kernel} to {self.out}{more}"


class Pool(NamedTuple):
    kind: str
    batch: int
    channels: int
    size: int
    kernel: int
    stride: int
    padding: int = 0

    def __str__(self) -> str:
        shape = f"{self.batch}x{self.channels}x{self.size}"
        return f"{self.kind} {shape} k{self.kernel} s{self.stride}"


CONVS = [
    # LeNet, ResNets of two sizes, VGG
    Conv(32, 1, 28, 6, 5, 1, 2), Conv(32, 6, 14, 16, 5), Conv(16, 3, 32, 32, 3, 1, 1),
    Conv(16, 32, 32, 32, 3, 1, 1), Conv(16, 32, 32, 64, 3, 2, 1), Conv(16, 64, 16, 64, 3, 1, 1),
    Conv(4, 3, 224, 64, 7, 2, 3), Conv(8, 64, 56, 64, 3, 1, 1), Conv(8, 64, 56, 128, 3, 2, 1),
    Conv(8, 128, 28, 128, 3, 1, 1), Conv(8, 256, 14, 256, 3, 1, 1), Conv(8, 512, 7, 512, 3, 1, 1),
    Conv(2, 64, 112, 128, 3, 1, 1), Conv(1, 3, 224, 64, 3, 1, 1), Conv(1, 512, 14, 512, 3, 1, 1),
    # 1x1
    Conv(8, 64, 56, 64, 1), Conv(8, 64, 56, 256, 1), Conv(8, 256, 56, 64, 1),
    Conv(8, 256, 14, 1024, 1), Conv(8, 1024, 14, 256, 1), Conv(8, 64, 56, 128, 1, 2),
    Conv(8, 512, 7, 2048, 1), Conv(1, 32, 100, 16, 1),
    # depthwise and grouped
    Conv(8, 64, 56, 64, 3, 1, 1, 64), Conv(8, 32, 112, 32, 3, 1, 1, 32),
    Conv(8, 128, 28, 128, 3, 2, 1, 128), Conv(8, 256, 14, 256, 5, 1, 2, 256),
    Conv(8, 512, 7, 512, 3, 1, 1, 512), Conv(8, 128, 28, 128, 3, 1, 1, 32),
    Conv(8, 256, 28, 256, 3, 1, 1, 8), Conv(8, 64, 28, 128, 3, 1, 1, 64),
    # odd sizes, large kernels, small images
    Conv(3, 17, 31, 23, 3, 1, 1), Conv(5, 33, 19, 47, 5, 1, 2), Conv(2, 16, 64, 16, 11, 1, 5),
    Conv(7, 20, 13, 50, 3, 2, 1), Conv(64, 64, 8, 64, 3, 1, 1), Conv(64, 128, 4, 128, 3, 1, 1),
    Conv(64, 256, 2, 256, 3, 1, 1), Conv(64, 64, 4, 128, 4), Conv(128, 16, 5, 120, 5),
    Conv(1, 8, 256, 8, 3, 1, 1), Conv(1, 1, 512, 1, 3, 1, 1), Conv(16, 3, 64, 192, 16, 16),
    Conv(1, 64, 64, 3, 3, 1, 1), Conv(100, 4, 20, 4, 3, 1, 1),
]  # fmt: skip
POOLS = [
    Pool(kind, *shape)
    for kind in ("max", "avg")
    for shape in (
        (16, 64, 32, 2, 2), (32, 6, 28, 2, 2), (32, 16, 10, 2, 2), (8, 64, 112, 3, 2, 1),
        (8, 64, 56, 3, 1, 1), (8, 512, 7, 7, 7), (4, 32, 33, 2, 2), (1, 3, 224, 5, 3, 2),
    )
]  # fmt: skip


def workloads(lib: Any, case: Conv | Pool) -> dict[str, Callable[[], Any]]:
    """Forward, and each gradient alone, for torch or genesis."""
    rng = np.random.default_rng(0)

    def tensor(*shape: int) -> Any:
        return lib.tensor(rng.standard_normal(shape, dtype="float32"))

    x = tensor(case.batch, case.channels, case.size, case.size)
    f = lib.nn.functional

    def gradient(y: Any, leaf: Any) -> Callable[[], Any]:
        dy = tensor(*y.shape)
        return lambda: lib.autograd.grad(y, leaf, dy, retain_graph=True)

    if isinstance(case, Pool):
        pool = getattr(f, f"{case.kind}_pool2d")
        arguments = case.kernel, case.stride, case.padding
        leaf = x.clone().requires_grad_()
        return {
            "forward": lambda: pool(x, *arguments),
            "input": gradient(pool(leaf, *arguments), leaf),
        }
    w = tensor(case.out, case.channels // case.groups, case.kernel, case.kernel)
    options = case.stride, case.padding, 1, case.groups
    leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
    return {
        "forward": lambda: f.conv2d(x, w, None, *options),
        "input": gradient(f.conv2d(leaf, w, None, *options), leaf),
        "weight": gradient(f.conv2d(x, weight, None, *options), weight),
    }


def measure(runs: list[Callable[[], Any]], rounds: int, clock: Callable[[], float]) -> list[float]:
    """The best time of each, taken in turn; short ones are repeated within a round."""
    best = [math.inf] * len(runs)
    repeats = []
    for run in runs:
        run()
        start = clock()
        run()
        repeats.append(max(1, int(2e-3 / max(clock() - start, 1e-6))))
    for _ in range(rounds):
        for i, run in enumerate(runs):
            start = clock()
            for _ in range(repeats[i]):
                run()
            best[i] = min(best[i], (clock() - start) / repeats[i])
    return best


def work(case: Conv | Pool) -> float:
    """Floating-point operations of one direction."""
    out = (case.size + 2 * case.padding - case.kernel) // case.stride + 1
    if isinstance(case, Pool):
        return case.batch * case.channels * out**2 * case.kernel**2
    return 2 * case.batch * case.out * out**2 * case.channels / case.groups * case.kernel**2


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="regular expression of shapes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    genesis.set_num_threads(options.threads)
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    columns: dict[str, list[tuple[float, str]]] = {}
    print(
        f"{'':32}"
        + "".join(f"{name + ' ms, GF, ratio':>26}" for name in ("forward", "input", "weight"))
    )
    for case in [*CONVS, *POOLS]:
        if not re.search(options.only, str(case)):
            continue
        ours, theirs = workloads(genesis, case), workloads(torch, case)
        cells, total = [], [0.0, 0.0]
        for name in ours:
            times = measure([ours[name], theirs[name]], options.rounds, clock)
            total = [a + b for a, b in zip(total, times, strict=True)]
            columns.setdefault(name, []).append((times[0] / times[1], str(case)))
            rate = work(case) / times[0] / 1e9
            cells.append(f"{times[0] * 1e3:10.3f} {rate:7.1f} {times[0] / times[1]:6.2f}")
        columns.setdefault("all", []).append((total[0] / total[1], str(case)))
        print(f"{case!s:32}" + " ".join(cells), flush=True)
    print()
    for name, found in columns.items():
        mean = math.exp(sum(math.log(r) for r, _ in found) / len(found))
        worst, which = max(found)
        print(f"{name:8} geometric mean {mean:.2f} of {len(found)}; worst {worst:.2f}: {which}")
    print()
    for ratio, name in sorted(columns.get("all", [])):
        print(f"{name:32} {ratio:5.2f} {'#' * round(20 * ratio)}")


if __name__ == "__main__":
    main()
