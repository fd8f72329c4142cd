"""Times the same work in PyTorch and in Genesis, in turn, and prints a table of ratios.

A ratio below 1 says that Genesis is faster. The best of many short rounds counts, since noise only
ever adds; with one thread the clock is the process's own, which other processes do not touch.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import genesis
import torch

Run = Callable[[], Any]


def best(runs: list[Run], seconds: float, clock: Callable[[], float]) -> list[float]:
    """Seconds per call of each, the best of rounds that take turns."""
    counts = []
    for run in runs:
        run()
        begin = clock()
        run()
        counts.append(max(1, int(2e-3 / max(clock() - begin, 1e-7))))
    least = [math.inf] * len(runs)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, (run, count) in enumerate(zip(runs, counts, strict=True)):
            begin = clock()
            for _ in range(count):
                run()
            least[k] = min(least[k], (clock() - begin) / count)
    return least


def forward_and_backward(f: Callable[[], Any], leaves: list[Any], seed: Any) -> Run:
    def run() -> None:
        for leaf in leaves:
            leaf.grad = None
        f().backward(seed)

    return run


def main(description: str, workloads: Iterable[tuple[str, Callable[[Any], Run]]]) -> None:
    """Each workload is a name and a function that makes the run from torch or genesis."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each line")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    genesis.set_num_threads(args.threads)
    clock = time.process_time if args.threads == 1 else time.perf_counter
    ratios = []
    print(f"{'':46}{'PyTorch us':>12}{'Genesis us':>12}{'ratio':>8}")
    for name, make in workloads:
        if not re.search(args.only, name):
            continue
        theirs, ours = best([make(torch), make(genesis)], args.seconds, clock)
        ratios.append(ours / theirs)
        print(f"{name:46}{theirs * 1e6:12.1f}{ours * 1e6:12.1f}{ratios[-1]:8.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, worst {max(ratios):.2f}, of {len(ratios)}")
