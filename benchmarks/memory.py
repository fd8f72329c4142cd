"""Memory of training steps beside PyTorch's, each in a process of its own.

    pip install torch==2.13.0 && python benchmarks/memory.py [--only REGEX] [--threads N]

"tensors" is the most that tensors hold at once during a step, as the allocators count it, beyond
what they hold before it (parameters, gradients, the optimizer's state). "process" is the most
memory that the system gave, over ten steps, beyond what the process had once the model was made.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import re
import subprocess
import sys

MEGABYTE = 1 << 20


def status(field: str) -> int:
    """Bytes: VmRSS is what the process has now, VmHWM the most it had."""
    text = pathlib.Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) * 1024


def tensors_of_torch(run: object) -> int:
    """The peak of the running sum over what the profiler saw allocated and freed."""
    profiler = importlib.import_module("torch.profiler")
    activity = [profiler.ProfilerActivity.CPU]
    with profiler.profile(activities=activity, profile_memory=True) as seen:
        run()  # type: ignore[operator]
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


def tensors_of_genesis(run: object) -> int:
    memory = importlib.import_module("genesis").memory
    memory.reset_peak()
    before = memory.allocated()
    run()  # type: ignore[operator]
    return int(memory.peak() - before)


def child(library: str, name: str, threads: int) -> None:
    lib = importlib.import_module(library)
    training = importlib.import_module("training")
    lib.set_num_threads(threads)
    run = dict(training.WORKLOADS)[name](lib)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the highest mark falls to the present
    before = status("VmRSS")
    for _ in range(10):
        run()
    process = status("VmHWM") - before
    tensors = {"torch": tensors_of_torch, "genesis": tensors_of_genesis}[library](run)
    print(json.dumps({"tensors": tensors, "process": process}))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="regular expression of names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(*args.child, args.threads)
    training = importlib.import_module("training")
    print(f"{'MB':42}{'tensors':^30}{'process':^30}")
    print(f"{'':42}" + 2 * f"{'PyTorch':>10}{'Genesis':>10}{'ratio':>10}")
    for name, _ in training.WORKLOADS:
        if not re.search(args.only, name):
            continue
        found = {}
        for library in ("torch", "genesis"):
            command = [sys.executable, __file__, "--threads", str(args.threads)]
            command += ["--child", library, name]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            found[library] = json.loads(run.stdout.splitlines()[-1])
        cells = ""
        for kind in ("tensors", "process"):
            theirs, ours = (found[lib][kind] / MEGABYTE for lib in ("torch", "genesis"))
            cells += f"{theirs:10.2f}{ours:10.2f}{ours / theirs:10.2f}"
        print(f"{name:42}{cells}", flush=True)


if __name__ == "__main__":
    main()
