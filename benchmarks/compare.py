"""Times the same work in PyTorch and in Genesis, in turn, and prints (or draws) the ratios.

A ratio below 1 says that Genesis is faster. The best of many short rounds counts, since noise only
ever adds; with one thread the clock is the process's own, which other processes do not touch.
Where a workload tells its arithmetic and the memory that it must touch at least, the last column
is the part of the machine's own speed that Genesis reaches (`limits.py`).
"""

from __future__ import annotations

import argparse
import gc
import math
import pathlib
import re
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import drawing
import genesis
import limits
import torch

Run = Callable[[], Any]


class Work(NamedTuple):
    """One line of a sweep: `make` gets torch or genesis and returns what is timed."""

    group: str
    name: str
    make: Callable[[Any], Run]
    flops: float = 0
    bytes: float = 0


def shape(*sizes: int) -> str:
    return "x".join(map(str, sizes))


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
    rounds = 0
    while time.perf_counter() < end or rounds < 3:
        rounds += 1
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


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(title: str, lines: list[drawing.Line]) -> str:
    worst = max(lines, key=lambda line: line.ratio)
    mean = geometric_mean([line.ratio for line in lines])
    return (
        f"{title:24} geometric mean {mean:.2f} of {len(lines)}; "
        f"worst {worst.ratio:.2f}: {worst.name}"
    )


def main(description: str | None, workloads: Iterable[Work]) -> None:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="regular expression of groups and names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="for each line")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE.svg", help="draw the ratios")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    genesis.set_num_threads(args.threads)
    clock = time.process_time if args.threads == 1 else time.perf_counter
    machine = limits.measure(args.threads)
    lines: list[drawing.Line] = []
    print(f"{'':50}{'PyTorch us':>12}{'Genesis us':>12}{'ratio':>8}{'of limit':>10}")
    for work in workloads:
        if not re.search(args.only, f"{work.group} {work.name}"):
            continue
        gc.collect()
        theirs, ours = best([work.make(torch), work.make(genesis)], args.seconds, clock)
        limit = machine.seconds(work.flops, work.bytes) if machine else 0.0
        line = drawing.Line(work.group, work.name, ours / theirs, limit / ours, limit / theirs)
        lines.append(line)
        print(
            f"{(work.group + ' ' + work.name).strip():50}{theirs * 1e6:12.1f}{ours * 1e6:12.1f}"
            f"{line.ratio:8.2f}" + (f"{line.of_limit:10.0%}" if limit else ""),
            flush=True,
        )
    if not lines:
        raise SystemExit(f"--only {args.only!r} fits no line")
    print()
    groups = list(dict.fromkeys(line.group for line in lines))
    if len(groups) > 1:
        for group in groups:
            print(summary(group, [line for line in lines if line.group == group]))
    print(summary("all", lines))
    if machine:
        print(machine)
    if args.plot:
        title = (description or "").partition("\n")[0].rstrip(".")
        threads = "1 thread" if args.threads == 1 else f"{args.threads} threads"
        args.plot.write_text(drawing.sweep(lines, f"{title} ({threads})"))
