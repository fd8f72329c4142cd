"""Function transforms against PyTorch (and jax.jit where it is installed), in one run.

    python benchmarks/transforms.py

Each line is the ratio of the median times of rounds that alternate between the two sides.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import genesis
import genesis.func
import genesis.nn as nn


def medians(functions: list[Callable[[], Any]], rounds: int, seconds: float) -> list[float]:
    """The median time of each function; they take turns."""
    counts = []
    for f in functions:
        f()
        start = time.perf_counter()
        f()
        once = max(time.perf_counter() - start, 1e-7)
        counts.append(max(1, int(seconds / once)))
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for f, n, found in zip(functions, counts, times, strict=True):
            start = time.perf_counter()
            for _ in range(n):
                f()
            found.append((time.perf_counter() - start) / n)
    return [statistics.median(t) for t in times]


def report(name: str, ratio: float, limit: float, ours: float, theirs: float) -> None:
    mark = "" if ratio <= limit else "  over the limit"
    print(
        f"{name:<58} {ratio:6.2f}  (limit {limit:.1f}; {ours * 1e6:9.1f} us / "
        f"{theirs * 1e6:9.1f} us){mark}",
        flush=True,
    )


def reference() -> Any:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(genesis.get_num_threads())
    return torch


def copied(torch: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    return {k: torch.from_numpy(v.detach().numpy().copy()) for k, v in parameters.items()}


def per_sample(torch: Any, rounds: int, seconds: float) -> None:
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    params = {k: v.detach() for k, v in model.named_parameters()}
    x, y = genesis.randn(64, 784), genesis.randint(0, 10, (64,))

    def loss(p: Any, a: Any, b: Any) -> Any:
        out = genesis.func.functional_call(model, p, (a,))
        return nn.functional.cross_entropy(out, b)

    each = genesis.func.vmap(genesis.func.grad(loss), (None, 0, 0))

    def batched() -> None:
        model.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()

    # What writing the result (64 times as large as the gradient of the batch) costs at least.
    result = genesis.empty(64, sum(p.numel() for p in params.values()))
    functions: list[Callable[[], Any]] = [lambda: each(params, x, y), batched, result.zero_]
    if torch:
        other = torch.nn.Sequential(
            torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
        )
        other_params = copied(torch, params)
        tx, ty = torch.from_numpy(x.numpy()), torch.from_numpy(y.numpy())

        def torch_loss(p: Any, a: Any, b: Any) -> Any:
            out = torch.func.functional_call(other, p, (a,))
            return torch.nn.functional.cross_entropy(out, b)

        torch_each = torch.func.vmap(torch.func.grad(torch_loss), (None, 0, 0))
        functions.append(lambda: torch_each(other_params, tx, ty))
    ours, once, written, *theirs = medians(functions, rounds, seconds)
    print(
        f"writing {result.nbytes / 1e6:.0f} MB, the size of the per-sample gradients: "
        f"{written * 1e6:.0f} us, {written / once:.2f} of one batched backward pass"
    )
    report("per-sample gradients / one batched backward pass", ours / once, 3.0, ours, once)
    if theirs:
        report("per-sample gradients / PyTorch", ours / theirs[0], 0.5, ours, theirs[0])


def hessians(torch: Any, rounds: int, seconds: float) -> None:
    sizes = [(4, 64), (64, 64), (64, 1)]
    weights = [(genesis.randn(o, i) / i**0.5, genesis.randn(o)) for i, o in sizes]
    points = genesis.randn(32, 4)

    def network(x: Any) -> Any:
        for k, (w, b) in enumerate(weights):
            x = nn.functional.linear(x, w, b)
            x = x.tanh() if k < 2 else x
        return x.sum()

    ours_fn = genesis.func.vmap(genesis.func.hessian(network))
    compiled = genesis.compile(ours_fn)  # the counterpart of jax.jit
    functions: list[Callable[[], Any]] = [lambda: ours_fn(points), lambda: compiled(points)]
    names = []
    if torch:
        other = [(torch.from_numpy(w.numpy()), torch.from_numpy(b.numpy())) for w, b in weights]
        torch_points = torch.from_numpy(points.numpy())

        def torch_network(x: Any) -> Any:
            for k, (w, b) in enumerate(other):
                x = torch.nn.functional.linear(x, w, b)
                x = x.tanh() if k < 2 else x
            return x.sum()

        torch_fn = torch.func.vmap(torch.func.hessian(torch_network))
        functions.append(lambda: torch_fn(torch_points))
        names.append(("PyTorch", 0.3))
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        pass
    else:
        jax_weights = [(jnp.asarray(w.numpy()), jnp.asarray(b.numpy())) for w, b in weights]
        jax_points = jnp.asarray(points.numpy())

        def jax_network(x: Any) -> Any:
            for k, (w, b) in enumerate(jax_weights):
                x = w @ x + b
                x = jnp.tanh(x) if k < 2 else x
            return x.sum()

        jax_fn = jax.jit(jax.vmap(jax.hessian(jax_network)))
        functions.append(lambda: jax_fn(jax_points).block_until_ready())
        names.append(("jax.jit", 1.0))
    eager, replayed, *theirs = medians(functions, rounds, seconds)
    line = "Hessians of 4-64-64-1 at 32 points"
    print(f"{line}: {eager * 1e6:.1f} us, with genesis.compile {replayed * 1e6:.1f} us")
    for (name, limit), other_time in zip(names, theirs, strict=True):
        ours, how = (replayed, "compiled") if name == "jax.jit" else (eager, "eager")
        report(f"{line}, {how} / {name}", ours / other_time, limit, ours, other_time)


def block() -> tuple[nn.Module, Any]:
    layer = nn.TransformerEncoderLayer(
        128, 4, 512, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"
    )
    return layer, genesis.randn(8, 64, 128)


def products(rounds: int, seconds: float) -> None:
    cases: list[tuple[str, nn.Module, Any]] = [
        (
            "MLP 784-512-512-10, batch 128",
            nn.Sequential(
                nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
            ),
            genesis.randn(128, 784),
        ),
        ("GPT block, width 128, 8 x 64", *block()),
        (
            "convolution 16-32, 3x3, 8 x 32 x 32",
            nn.Conv2d(16, 32, 3, padding=1),
            genesis.randn(8, 16, 32, 32),
        ),
    ]
    for name, model, x in cases:
        for p in model.parameters():
            p.requires_grad_(False)
        t = genesis.randn(*x.shape)
        forward: Callable[[], Any] = lambda model=model, x=x: model(x)  # noqa: E731
        product: Callable[[], Any] = lambda model=model, x=x, t=t: genesis.func.jvp(  # noqa: E731
            model, (x,), (t,)
        )
        ours, once = medians([product, forward], rounds, seconds)
        report(f"jvp / forward pass: {name}", ours / once, 4.0, ours, once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.05, help="of each measurement")
    options = parser.parse_args()
    torch = reference()
    genesis.manual_seed(0)
    per_sample(torch, options.rounds, options.seconds)
    hessians(torch, options.rounds, options.seconds)
    products(options.rounds, options.seconds)


if __name__ == "__main__":
    main()
