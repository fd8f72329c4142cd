"""Training on several ranks: beside raw mpi4py, beside PyTorch's DDP with gloo, and a model of it.

    pip install torch==2.13.0 "genesis-autograd[mpi]"
    python benchmarks/distributed.py [--only NAME] [--quick] [--images DIRECTORY]

Parts: allreduce, deterministic, training, single, overlap, memory, model. Each starts ranks of its
own with one thread each. Both sides of a ratio run in turns in one job; a ratio below 1 says that
Genesis takes less time. Plots are written to the directory. `--only model --measured FILE` draws
the model of an earlier run.

The overlap of communication and backward is measured on one machine and between two hosts with
limited bandwidth. Between ranks of one machine the cores that compute also copy the data, so with
one rank on each core little can be hidden; between hosts the network moves it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

PARTS = ("allreduce", "deterministic", "training", "single", "overlap", "memory", "model")
SIZES = [1 << s for s in range(12, 27, 2)]  # 4 KB to 64 MB


def say(**found: Any) -> None:
    """A result of a rank, for the process that started it."""
    import genesis.distributed as dist

    if dist.get_rank() == 0:
        print("RESULT " + json.dumps(found), flush=True)


def in_turns(
    runs: dict[str, Callable[[], Any]], rounds: int, inner: int, wait: Callable[[], Any]
) -> dict[str, float]:
    """The median seconds of each, measured in turns."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            wait()
            began = time.perf_counter()
            for _ in range(inner):
                run()
            if number:  # the first round warms up
                found[name].append((time.perf_counter() - began) / inner)
    return {name: statistics.median(values) for name, values in found.items()}


# ---- what ranks do


def allreduce(quick: bool) -> None:
    import genesis
    import genesis.distributed as dist
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    for size in SIZES[:: 2 if quick else 1]:
        array, tensor = np.zeros(size // 4, "float32"), genesis.zeros(size // 4)
        runs = {
            "mpi4py": lambda array=array: comm.Allreduce(MPI.IN_PLACE, array),
            "genesis": lambda tensor=tensor: dist.all_reduce(tensor),
        }
        inner = max(1, min(200, (1 << 23) // size))
        times = in_turns(runs, 5 if quick else 25, inner, comm.Barrier)
        say(part="allreduce", ranks=dist.get_world_size(), size=size, **times)


def deterministic(quick: bool) -> None:
    import genesis
    import genesis.distributed as dist

    world = dist.group.WORLD
    free = dist.new_group()
    free.deterministic = False
    for size in SIZES[:: 2 if quick else 1]:
        tensor = genesis.zeros(size // 4)
        runs = {
            "free": lambda tensor=tensor: dist.all_reduce(tensor, group=free, async_op=True).wait(),
            "ordered": lambda tensor=tensor: dist.all_reduce(
                tensor, group=world, async_op=True
            ).wait(),
        }
        inner = max(1, min(100, (1 << 23) // size))
        times = in_turns(runs, 5 if quick else 25, inner, dist.barrier)
        say(part="deterministic", ranks=dist.get_world_size(), size=size, **times)


def models() -> dict[str, Callable[[Any], Callable[[], Any]]]:
    import training

    lines = {name: make for name, make in training.WORKLOADS}
    return {
        "MLP 784-256-10": lines["MLP 784-256-10, batch 64, Adam"],
        "residual blocks": lines["3 residual blocks, 32x32, batch 16, SGD"],
        "character GPT": lines["character GPT, 4 layers, 128 wide, AdamW"],
    }


def wrapped(
    make: Callable[[Any], Callable[[], Any]],
    lib: Any,
    wrap: Callable[[Any], Any],
    kept: list[Any] | None = None,
) -> Callable[[], Any]:
    """The training step of a workload, with its model wrapped."""
    import training

    plain = training.steps

    def steps(lib: Any, model: Any, *args: Any, **options: Any) -> Any:
        model = wrap(model)
        if kept is not None:
            kept.append(model)
        return plain(lib, model, *args, **options)

    training.steps = steps
    try:
        return make(lib)
    finally:
        training.steps = plain


def train(quick: bool) -> None:
    import genesis
    import genesis.distributed as dist
    import torch
    import torch.distributed

    torch.set_num_threads(1)
    store = os.environ["GENESIS_BENCHMARK_STORE"]
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"file://{store}",
        rank=dist.get_rank(),
        world_size=dist.get_world_size(),
    )
    for name, make in models().items():
        runs = {
            "genesis": wrapped(make, genesis, genesis.nn.parallel.DistributedDataParallel),
            "torch": wrapped(make, torch, torch.nn.parallel.DistributedDataParallel),
        }
        times = in_turns(runs, 5 if quick else 15, 3 if quick else 5, dist.barrier)
        say(part="training", name=name, **times)


def single(quick: bool) -> None:
    import genesis
    import genesis.distributed as dist

    for name, make in models().items():
        runs = {
            "plain": wrapped(make, genesis, lambda model: model),
            "wrapped": wrapped(make, genesis, genesis.nn.parallel.DistributedDataParallel),
        }
        times = in_turns(runs, 9 if quick else 31, 3, dist.barrier)
        say(part="single", name=name, **times)


def overlap(quick: bool) -> None:
    """How much of its communication a step of the character GPT hides behind backward.

    Three steps with the same copies into buckets, each of which waits for the other rank once:
    "none" sends nothing, "after" sends all buckets when backward has ended, "step" is that of
    DistributedDataParallel. Hidden is 1 - (step - none) / (after - none).
    """
    import genesis
    import genesis.distributed as dist
    from genesis.distributed._work import Finished

    kept: list[Any] = []
    make = models()["character GPT"]
    step = wrapped(make, genesis, genesis.nn.parallel.DistributedDataParallel, kept)
    for _ in range(3):
        step()
    reducer = kept[0].reducer
    reduce, held = reducer._sum, []

    def nothing(bucket: Any) -> Any:
        if bucket.is_last():
            dist.barrier()
        return Finished()

    def later(bucket: Any) -> Any:
        held.append(bucket)
        if bucket.is_last():
            for full in held:
                full.work = reduce(full)
            held.clear()
        return bucket.work

    def stepping(how: Callable[[Any], Any]) -> Callable[[], None]:
        def run() -> None:
            reducer._sum = how
            step()

        return run

    runs = {"none": stepping(nothing), "after": stepping(later), "step": stepping(reduce)}
    times = in_turns(runs, 7 if quick else 25, 3, dist.barrier)
    size = sum(bucket.flat.nbytes for bucket in reducer.buckets)
    say(part="overlap", buckets=len(reducer.buckets), bytes=size, **times)


def memory(quick: bool) -> None:
    import genesis
    import genesis.distributed as dist
    from genesis import nn
    from genesis.distributed.fsdp import fully_shard

    before = genesis.memory.allocated()
    layers = [nn.Linear(512, 512) for _ in range(8)]
    for layer in layers:
        fully_shard(layer)
    model = nn.Sequential(*layers)
    update = genesis.optim.AdamW(model.parameters())
    x = genesis.ones(4, 512)
    for _ in range(2):
        update.zero_grad()
        model(x).sum().backward()
        update.step()
    genesis.memory.reset_peak()
    held = genesis.memory.allocated() - before
    update.zero_grad()
    model(x).sum().backward()
    update.step()
    say(part="memory", ranks=dist.get_world_size(), held=held, peak=genesis.memory.peak() - before)


JOBS = {
    "allreduce": allreduce,
    "deterministic": deterministic,
    "training": train,
    "single": single,
    "overlap": overlap,
    "memory": memory,
}


# ---- the process that starts them


def ranks_do(
    part: str, ranks: int, quick: bool, options: list[str] | None = None, **variables: str
) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            "GENESIS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "GENESIS_BENCHMARK_STORE": f"{folder}/store",
            **variables,
        }
        words = [
            sys.executable,
            "-m",
            "genesis.run",
            "-n",
            str(ranks),
            "--no-prefix",
            *(options or []),
            str(pathlib.Path(__file__).resolve()),
            "--rank",
            part,
        ]
        done = subprocess.run(
            [*words, *(["--quick"] if quick else [])],
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=1800,
        )
    if done.returncode:
        raise SystemExit(f"{part} on {ranks} ranks failed:\n{done.stdout}\n{done.stderr}")
    return [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]


def between_hosts(quick: bool) -> list[dict[str, Any]]:
    """The overlap between two hosts (network namespaces) whose links have limited bandwidth."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from tests.distributed.cluster import SOCKETS, Cluster, why_not

    reason = why_not()
    if reason:
        print(f"  two hosts: not measured: {reason}")
        return []
    results = []
    for rate in ("1gbit", "2gbit"):
        with tempfile.TemporaryDirectory() as folder, Cluster(pathlib.Path(folder), 2) as cluster:
            cluster.limit(rate)
            for found in ranks_do("overlap", 2, quick, cluster.options(), **SOCKETS):
                results.append({**found, "where": f"two hosts, {rate}"})
    return results


def size_text(n: int) -> str:
    return f"{n >> 20} MB" if n >= 1 << 20 else f"{n >> 10} KB"


def ratio_line(name: str, found: dict[str, Any], ours: str, theirs: str) -> None:
    print(
        f"  {name:18} {found[ours] * 1e6:12.1f} us {found[theirs] * 1e6:12.1f} us  "
        f"ratio {found[ours] / found[theirs]:.2f}"
    )


def report(part: str, quick: bool) -> list[dict[str, Any]]:
    ranks = {"single": [1], "memory": [1, 2, 4], "allreduce": [2, 4]}.get(part, [2])
    results: list[dict[str, Any]] = []
    for n in ranks:
        results += ranks_do(part, n, quick)
    if part == "overlap":
        results += between_hosts(quick)
    heads = {
        "allreduce": "all_reduce: Genesis, raw mpi4py",
        "deterministic": "all_reduce in the order of ranks, and MPI's own order",
        "training": "training step on 2 ranks: Genesis, PyTorch with gloo",
        "single": "training step on 1 rank: with DDP, without",
        "overlap": "communication of the character GPT on 2 ranks",
        "memory": "bytes of a rank: 8 x Linear(512, 512), gradients, AdamW's state; fully_shard",
    }  # fmt: skip
    print(heads[part])
    for r in results:
        if part == "allreduce":
            ratio_line(f"{r['ranks']} ranks, {size_text(r['size'])}", r, "genesis", "mpi4py")
        elif part == "deterministic":
            ratio_line(size_text(r["size"]), r, "ordered", "free")
        elif part == "training":
            ratio_line(r["name"], r, "genesis", "torch")
        elif part == "single":
            ratio_line(r["name"], r, "wrapped", "plain")
        elif part == "overlap":
            sent, exposed = r["after"] - r["none"], r["step"] - r["none"]
            measurable = sent > 0.05 * r["none"]  # steps vary by a few percent
            hidden = f"{1 - exposed / sent:.0%}" if measurable else "too little to measure"
            print(
                f"  {r.get('where', 'one machine'):18} step {r['step'] * 1e3:.2f} ms, without "
                f"communication {r['none'] * 1e3:.2f} ms, with it after backward "
                f"{r['after'] * 1e3:.2f} ms ({r['buckets']} buckets, {r['bytes']} bytes); "
                f"hidden: {hidden}"
            )
        else:
            share = r["held"] * r["ranks"] / results[0]["held"]
            print(
                f"  {r['ranks']} ranks: {r['held']:>10} held, {r['peak']:>10} at the peak; "
                f"held x ranks / held on one rank: {share:.2f}"
            )
    return results


# ---- the model


def fit(results: list[dict[str, Any]]) -> tuple[float, float]:
    """Latency of a message and bytes per second: t = 2 (P - 1) a + 2 (P - 1) / P n / b.

    The sum of squares of relative errors is least, so that short and long messages count alike.
    """
    rows = [
        (2 * (r["ranks"] - 1), 2 * (r["ranks"] - 1) / r["ranks"] * r["size"], r["genesis"])
        for r in results
    ]
    aa = sum((x / t) ** 2 for x, _, t in rows)
    ab = sum(x * y / t**2 for x, y, t in rows)
    bb = sum((y / t) ** 2 for _, y, t in rows)
    ca, cb = sum(x / t for x, _, t in rows), sum(y / t for _, y, t in rows)
    det = aa * bb - ab * ab
    return max((ca * bb - cb * ab) / det, 1e-9), 1 / max((aa * cb - ab * ca) / det, 1e-15)


def step_time(
    ranks: int, gradients: float, bucket: float, latency: float, bandwidth: float, compute: float
) -> float:
    """A step: compute, two thirds of it backward, and what backward does not hide."""
    if ranks == 1:
        return compute
    count = max(1, math.ceil(gradients / bucket))
    one = 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * min(bucket, gradients) / bandwidth
    backward = compute * 2 / 3
    first = backward / count  # until the first bucket is full
    end = first
    for k in range(count):
        end = max(end, first * (k + 1)) + one
    return compute / 3 + max(backward, end)


def model(results: list[dict[str, Any]], images: pathlib.Path | None) -> None:
    latency, bandwidth = fit(results)
    print("model: time of all_reduce of n bytes on P ranks = 2 (P - 1) a + 2 (P - 1) / P n / b")
    print(f"  fitted on this machine: a = {latency * 1e6:.1f} us, b = {bandwidth / 1e9:.2f} GB/s")
    counts = [2**k for k in range(11)]
    gradients, compute = 100e6, 0.1
    # A network of a cluster, by its data sheet: what changes with the machine are the two numbers.
    for name, a, b in (("this machine", latency, bandwidth), ("2 us and 12.5 GB/s", 2e-6, 12.5e9)):
        series = {
            f"{mb} MB": [compute / step_time(p, gradients, mb * 1e6, a, b, compute) for p in counts]
            for mb in (1, 4, 25)
        }
        print(
            f"  {name}: part of a step that computes; 100 MB of gradients, 0.1 s of computing, "
            "buckets of " + ", ".join(series)
        )
        for i in (3, 6, 10):
            print(
                f"    {counts[i]:5} ranks: "
                + ", ".join(f"{values[i]:.0%}" for values in series.values())
            )
        if images is not None:
            from genesis.report import chart

            svg = chart.curves(
                series,
                "log2 of the number of ranks",
                "efficiency",
                x=[float(k) for k in range(11)],
                percent=True,
            )
            file = images / (
                "scale-out-here.svg" if name == "this machine" else "scale-out-cluster.svg"
            )
            file.write_text(chart.standalone(svg) + "\n")


def plots(found: dict[str, list[dict[str, Any]]], images: pathlib.Path) -> None:
    from genesis.report import chart

    two = [r for r in found.get("allreduce", []) if r["ranks"] == 2]
    if two:
        series = {
            "genesis": [r["genesis"] * 1e6 for r in two],
            "mpi4py": [r["mpi4py"] * 1e6 for r in two],
        }
        svg = chart.curves(
            series, "log2 of the bytes", "us", x=[math.log2(r["size"]) for r in two], log=True
        )
        (images / "distributed-allreduce.svg").write_text(chart.standalone(svg) + "\n")
    if found.get("training"):
        groups = {
            r["name"]: {"genesis": r["genesis"] * 1e3, "torch": r["torch"] * 1e3}
            for r in found["training"]
        }
        (images / "distributed-training.svg").write_text(
            chart.standalone(chart.bars(groups, "ms")) + "\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and sizes")
    parser.add_argument("--images", type=pathlib.Path, help="directory for plots")
    parser.add_argument(
        "--measured",
        type=pathlib.Path,
        help="file of the measurements: read by the model, written by allreduce",
    )
    parser.add_argument("--rank", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        import genesis.distributed as dist

        dist.init_process_group(timeout=300)
        JOBS[options.rank](options.quick)
        return
    if options.images:
        options.images.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    print(
        f"load of the machine at the start: {load:.1f} on {os.cpu_count()} processors"
        + ("; figures are rough" if load > 1 else "")
    )
    parts = options.only or list(PARTS)
    found: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        if part != "model":
            found[part] = report(part, options.quick)
            continue
        results = found.get("allreduce")
        if results is None:
            file = options.measured
            results = (
                json.loads(file.read_text())
                if file and file.exists()
                else ranks_do("allreduce", 2, options.quick)
            )
        model(results, options.images)
    if options.measured and "allreduce" in found:
        options.measured.write_text(json.dumps(found["allreduce"]))
    if options.images:
        plots(found, options.images)


if __name__ == "__main__":
    main()
