"""`genesis bench`: the same lines run by Genesis and, where it is installed, by PyTorch."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import genesis
from genesis._console import Console
from genesis._environment import processor
from genesis.cli.arguments import Failure, Parser, number
from genesis.report import chart
from genesis.report._format import plural

Run = Callable[[], Any]


def workloads(lib: Any) -> dict[str, Run]:
    """What is timed. ``lib`` is genesis or torch; both run the very same lines.

    >>> workloads(genesis)["matmul 512"]().shape == (512, 512)
    True
    """
    lib.manual_seed(0)
    nn, f = lib.nn, lib.nn.functional
    small, long, square = lib.randn(8, 8), lib.randn(1 << 20), lib.randn(1024, 1024)
    left, right = lib.randn(512, 512), lib.randn(512, 512)
    leaf = lib.randn(8, 8, requires_grad=True)
    query = lib.randn(4, 8, 256, 64)
    image, label = lib.randn(16, 3, 32, 32), lib.randint(0, 10, (16,))
    text, steps = lib.randint(0, 64, (16, 64)), lib.randn(32, 16, 64)

    def chain() -> Any:
        leaf.grad = None
        x = leaf
        for _ in range(50):
            x = x * small + small
        x.sum().backward()
        return leaf.grad

    def train(model: Any, *inputs: Any, target: Any) -> Run:
        optimizer = lib.optim.AdamW(model.parameters(), lr=1e-4)

        def step() -> Any:
            loss = f.cross_entropy(model(*inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return step

    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    cnn = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 10),
    )  # fmt: skip
    transformer = nn.Sequential(
        nn.Embedding(64, 128),
        nn.TransformerEncoderLayer(128, 4, 512, 0.0, "gelu", batch_first=True),
        nn.Flatten(0, 1),
        nn.Linear(128, 64),
    )
    lstm = nn.LSTM(64, 128)

    def recurrent() -> Any:
        lstm.zero_grad()
        lstm(steps)[0].sum().backward()
        return lstm.weight_hh_l0.grad

    return {
        "add 8x8": lambda: small + small,
        "100 small ops with gradients": chain,
        "add 1M": lambda: long + long,
        "gelu 1M": lambda: f.gelu(long),
        "sum 1M": lambda: long.sum(),
        "softmax 1024x1024": lambda: f.softmax(square, -1),
        "matmul 512": lambda: left @ right,
        "attention 4x8x256x64": lambda: f.scaled_dot_product_attention(query, query, query),
        "LSTM with gradients": recurrent,
        "training step, MLP": train(mlp, lib.randn(64, 784), target=lib.randint(0, 10, (64,))),
        "training step, CNN": train(cnn, image, target=label),
        "training step, transformer": train(transformer, text, target=text.reshape(-1)),
    }


def best(run: Run, seconds: float) -> float:
    """The shortest time of a call; noise only ever adds.

    >>> best(lambda: None, 0.001) < 0.001
    True
    """
    run()
    start = time.perf_counter()
    run()
    calls = max(1, int(0.001 / max(time.perf_counter() - start, 1e-7)))
    shortest, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        now = time.perf_counter()
        shortest = min(shortest, (now - start) / calls)
        if now >= end:
            return shortest


def measure(libraries: dict[str, Any], only: str, seconds: float) -> dict[str, dict[str, float]]:
    """Microseconds of every workload in every library, in turns: all see the same weather."""
    runs = {name: workloads(lib) for name, lib in libraries.items()}
    names = [w for w in runs["genesis"] if re.search(only, w)]
    if not names:
        raise Failure(f"genesis bench: --only {only!r} fits none of {', '.join(runs['genesis'])}")
    found: dict[str, dict[str, float]] = {}
    for workload in names:
        times = dict.fromkeys(libraries, float("inf"))
        for _ in range(3):
            for name in libraries:
                times[name] = min(times[name], best(runs[name][workload], seconds / 3))
        found[workload] = {name: t * 1e6 for name, t in times.items()}
    return found


def _pytorch(console: Console) -> dict[str, Any]:
    """PyTorch by its name, or a line that explains why it is not measured."""
    if importlib.util.find_spec("torch") is None:
        console.line("PyTorch is not installed here: Genesis is timed alone.", "yellow")
        return {}
    try:
        return {"torch": importlib.import_module("torch")}
    except Exception as error:
        console.line(
            f"PyTorch is installed but cannot be imported, so Genesis is timed alone: {error}",
            "yellow",
        )
        return {}


def main(arguments: list[str]) -> int:
    """Measure and tell."""
    parser = Parser(
        "genesis bench",
        "Time operations and training steps next to PyTorch, if it is installed. Both run the\n"
        "same lines alternately, and the shortest of many times counts.",
    )
    add = parser.add_argument
    add("--only", default="", metavar="REGEX", help="run only workloads whose names match")
    add("--threads", type=number(1), metavar="N", help="for both libraries")
    add("--milliseconds", type=number(1), default=300, metavar="N",
        help="per workload and library (300)")  # fmt: skip
    add("--alone", action="store_true", help="run without PyTorch")
    add("-o", "--out", type=Path, metavar="FILE.svg", help="draw a chart as well")
    add("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.out is not None and options.out.suffix != ".svg":
        raise Failure(f"genesis bench: --out: the name must end in .svg, got {options.out}")
    try:
        re.compile(options.only)
    except re.error as error:
        raise Failure(
            f"genesis bench: --only: {options.only!r} is no regular expression: {error}"
        ) from None
    console = Console(options.json)
    libraries: dict[str, Any] = {"genesis": genesis}
    if not options.alone:
        libraries |= _pytorch(console)
    for lib in libraries.values():
        lib.set_num_threads(options.threads or genesis.get_num_threads())
    versions = ", ".join(f"{name} {lib.__version__}" for name, lib in libraries.items())
    console.line(f"{versions}; {plural(genesis.get_num_threads(), 'thread')} of {processor()}")
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        console.line(
            f"This machine is busy (load {load:.1f} on {cores} cores): times say little, and "
            "ratios are unfair to the library whose threads wait for each other.",
            "yellow",
        )
    found = measure(libraries, options.only, options.milliseconds / 1000)
    both = len(libraries) > 1
    ratios = {w: t["torch"] / t["genesis"] for w, t in found.items()} if both else {}
    header = ["microseconds", *libraries, *(["torch / genesis"] if both else [])]
    rows = [
        [w, *(f"{v:,.2f}" for v in t.values()), *([f"{ratios[w]:.2f}"] if both else [])]
        for w, t in found.items()
    ]
    console.table(header, rows)
    if both:
        product = 1.0
        for ratio in ratios.values():
            product *= ratio
        mean = product ** (1 / len(ratios))
        console.line(f"In the geometric mean PyTorch takes {mean:.2f} times as long as Genesis.")
    if options.out is not None:
        notes = {w: f"{r:.1f}x" for w, r in ratios.items()}
        options.out.write_text(chart.standalone(chart.bars(found, "microseconds", notes)))
        console.line(f"chart  {options.out}")
    console.data(
        {
            "threads": genesis.get_num_threads(),
            "versions": versions,
            "load": load,
            "microseconds": found,
        }
    )
    return 0
