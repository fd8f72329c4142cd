"""What the parts of autograd cost beside PyTorch's: recording, functions, hooks, saved tensors.

    pip install torch==2.13.0 && python benchmarks/autograd.py

Microseconds per operation on 8 x 8 tensors, where the work itself is nothing; forward and backward
together where it says so. Both run the same lines in one process; the best of many rounds counts.
"""

import time
from collections.abc import Callable
from typing import Any

import genesis
import torch

LENGTH = 50
ROUNDS = 30


def workloads(lib: Any) -> dict[str, Callable[[], Any]]:
    """Each does LENGTH operations."""

    class Mul(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, dz: Any) -> Any:
            _, y = ctx.saved_tensors
            return dz * y, None

    x, y = lib.ones(8, 8, requires_grad=True), lib.ones(8, 8)
    graph = lib.autograd.graph
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def chain(step: Callable[[Any], Any], backward: bool = True) -> Callable[[], None]:
        def run() -> None:
            x.grad = None
            z = x
            for _ in range(LENGTH):
                z = step(z)
            if backward:
                z.sum().backward()

        return run

    def hooked(z: Any) -> Any:
        z = z * y
        z.register_hook(lambda g: None)
        return z

    def packed() -> None:
        with hooks:
            chain(lambda z: z * y, backward=False)()

    return {
        "record z * y": chain(lambda z: z * y, backward=False),
        "z * y and backward": chain(lambda z: z * y),
        "Function.apply": chain(lambda z: Mul.apply(z, y), backward=False),
        "Function.apply and backward": chain(lambda z: Mul.apply(z, y)),
        "a hook on each result, and backward": chain(hooked),
        "record inside saved_tensors_hooks": packed,
    }


def tape() -> float:
    """Ours alone: recording on a tape, and its backward."""
    x, y, recorder = genesis.ones(8, 8), genesis.ones(8, 8), genesis.Tape()

    def run() -> None:
        with recorder:
            z = x
            for _ in range(LENGTH):
                z = z * y
            loss = z.sum()
        recorder.backward(loss)

    return best(run)


def profiled() -> float:
    """What the profiler adds to an operation."""
    run = workloads(genesis)["record z * y"]
    off = best(run)
    with genesis.profiler.profile(record_shapes=True):
        return best(run) - off


def best(run: Callable[[], Any]) -> float:
    """Microseconds for each of LENGTH operations."""
    run()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times) / LENGTH * 1e6


def main() -> None:
    torch.set_num_threads(1)
    genesis.set_num_threads(1)
    ours, theirs = workloads(genesis), workloads(torch)
    print(f"{'us per operation':40} {'genesis':>8} {'torch':>8} {'ratio':>6}")
    for name, run in ours.items():
        a, b = best(run), best(theirs[name])
        print(f"{name:40} {a:8.2f} {b:8.2f} {a / b:6.2f}")
    print(f"{'record on a Tape, and backward':40} {tape():8.2f}")
    print(f"{'added by the profiler':40} {profiled():8.2f}")


if __name__ == "__main__":
    main()
