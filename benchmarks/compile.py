"""genesis.compile beside eager Genesis, PyTorch, torch.compile and jax.jit.

    pip install torch==2.13.0 jax && python benchmarks/compile.py --clock cpu

Arithmetic written by hand, which eager execution computes operation by operation, and training
steps of a GPT and a ResNet. Each framework runs in a process of its own, on one thread.
Microseconds per call, the median of three runs, each the best of many rounds; memory in megabytes.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

FRAMEWORKS = ("torch", "torch-compile", "jax", "genesis", "genesis-compile")
# Workload, the framework to compare with, and the largest ratio that is wanted.
TARGETS = (
    ("gelu", "torch", 0.30),
    ("gelu and backward", "torch", 0.15),
    ("gelu", "torch-compile", 1.0),
    ("gelu and backward", "torch-compile", 1.0),
    ("tiny MLP with Adam", "jax", 0.25),
    ("n-body", "jax", 1.2),
    ("rnn", "jax", 0.6),
    ("pinn", "jax", 0.6),
    ("layer norm, gelu, dropout", "jax", 1.0),
    ("gpt", "genesis", 1.0),
    ("resnet", "genesis", 1.0),
    ("gpt: peak memory", "genesis", 0.85),
    ("resnet: peak memory", "genesis", 0.85),
)
EPS, STEP = 0.1, 0.001
random = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return random.standard_normal(shape).astype("float32")


DATA = {
    "gelu": [normal(1024, 1024), normal(1024, 1024)],
    "mlp": [normal(32, 4), normal(32, 2), normal(4, 64), normal(64, 64) * 0.1, normal(64, 2) * 0.1],
    "n-body": [normal(16, 3), normal(16, 3) * 0.1, np.abs(normal(16))],
    "norm": [normal(512, 1024), normal(1024), normal(1024), normal(512, 1024)],
    "rnn": [normal(100, 16, 32), normal(32, 64) * 0.1, normal(64, 64) * 0.1, normal(64)],
    "pinn": [
        normal(64, 1),
        normal(1, 32),
        normal(32),
        normal(32, 32) * 0.2,
        normal(32),
        normal(32, 1) * 0.2,
    ],
    "chain": [normal(8, 8)],
}


def gelu(x: Any, tanh: Any) -> Any:
    return 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def bodies(x: Any, v: Any, m: Any) -> Any:
    for _ in range(8):
        d = x[:, None] - x[None]
        w = ((d * d).sum(-1) + EPS) ** -1.5 * m
        v = v - (d * w[:, :, None]).sum(1) * STEP
        x = x + v * STEP
    return x, v


def tensor_workloads(lib: Any, compiled: bool) -> dict[str, Callable[[], Any]]:
    """Of PyTorch and Genesis."""
    wrap = lib.compile if compiled else lambda f: f
    data = {name: [lib.tensor(a) for a in arrays] for name, arrays in DATA.items()}
    grad = lib.autograd.grad

    x, g = data["gelu"]
    forward = wrap(lambda x: gelu(x, lib.tanh))
    xg = x.clone().requires_grad_(True)

    whole = lib.__name__ == "genesis"

    def with_backward(function: Any, wanted: list[Any], *given: Any) -> Callable[[], Any]:
        """Runs forward and backward: in one compiled function if that is possible.

        torch.compile cannot trace a backward pass inside a function.
        """
        if whole:

            def both(*args: Any) -> Any:
                y = function(*args)
                return y.detach(), *grad(y, args, *given)

            step = wrap(both)
            return lambda: step(*wanted)
        forward = wrap(function)
        return lambda: grad(forward(*wanted), wanted, *given)

    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
    )
    optimizer = lib.optim.Adam(model.parameters(), lr=1e-3)
    inputs, targets = data["mlp"][:2]

    def mlp(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    mlp_step = wrap(mlp)
    nbody = wrap(bodies)

    nx, w, b, ng = (t.clone() for t in data["norm"])
    leaves = [t.requires_grad_(True) for t in (nx, w, b)]

    def norm(x: Any, w: Any, b: Any) -> Any:
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)
        y = gelu((x - mu) * lib.rsqrt(var + 1e-5) * w + b, lib.tanh)
        return y * (lib.rand(512, 1024) > 0.1) * (1 / 0.9)

    norm_step = with_backward(norm, leaves, ng)

    xs, *weights = data["rnn"]
    weights = [t.requires_grad_(True) for t in weights]

    def rnn(wx: Any, wh: Any, bias: Any) -> Any:
        h = lib.zeros(16, 64)
        for t in range(100):
            h = lib.tanh(xs[t] @ wx + h @ wh + bias)
        return (h * h).mean()

    rnn_step = with_backward(rnn, weights)

    px, *params = data["pinn"]
    px.requires_grad_(True)
    params = [t.requires_grad_(True) for t in params]

    def pinn(x: Any, *p: Any) -> Any:
        u = lib.tanh(lib.tanh(x @ p[0] + p[1]) @ p[2] + p[3]) @ p[4]
        (du,) = grad(u.sum(), x, create_graph=True)
        (d2,) = grad(du.sum(), x, create_graph=True)
        return ((d2 + lib.sin(x)) ** 2).mean()

    def pinn_step(x: Any, *p: Any) -> Any:
        loss = pinn(x, *p)
        return loss.detach(), *grad(loss, p)

    pinn_run = wrap(pinn_step) if whole else pinn_step

    def chain(x: Any) -> Any:
        for _ in range(100):
            x = x * 1.01 + 0.01
        return x

    chained = wrap(chain)
    (c,) = data["chain"]
    bodies_data = data["n-body"]
    return {
        "gelu": lambda: forward(x),
        "gelu and backward": with_backward(lambda x: gelu(x, lib.tanh), [xg], g),
        "tiny MLP with Adam": lambda: mlp_step(inputs, targets),
        "n-body": lambda: nbody(*bodies_data),
        "layer norm, gelu, dropout": norm_step,
        "rnn": rnn_step,
        "pinn": lambda: pinn_run(px, *params),
        "chain of 200": lambda: chained(c),
    }


def jax_workloads() -> dict[str, Callable[[], Any]]:
    import jax
    import jax.numpy as jnp

    data = {name: [jnp.asarray(a) for a in arrays] for name, arrays in DATA.items()}
    ready = jax.block_until_ready
    x, g = data["gelu"]
    forward = jax.jit(lambda x: gelu(x, jnp.tanh))

    def with_backward(x: Any, g: Any) -> Any:
        y, pull = jax.vjp(lambda x: gelu(x, jnp.tanh), x)
        return y, pull(g)

    both = jax.jit(with_backward)
    inputs, targets, *sizes = data["mlp"]
    params = [p for w in sizes for p in (w, jnp.zeros(w.shape[1]))]
    moments = [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params]

    def loss(p: Any, x: Any, y: Any) -> Any:
        h = jnp.tanh(jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]) @ p[4] + p[5]
        return ((h - y) ** 2).mean()

    @jax.jit
    def adam(p: Any, m: Any, v: Any, t: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(p, x, y)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, grads, strict=True)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, grads, strict=True)]
        c1, c2 = 1 - 0.9**t, 1 - 0.999**t
        p = [
            a - 1e-3 * (b / c1) / (jnp.sqrt(c / c2) + 1e-8) for a, b, c in zip(p, m, v, strict=True)
        ]
        return p, m, v, t + 1, value

    state = [params, *moments, jnp.float32(1)]

    def mlp() -> Any:
        *state[:], value = adam(*state, inputs, targets)
        return ready(value)

    nbody = jax.jit(bodies)
    nx, w, b, ng = data["norm"]

    def norm(x: Any, w: Any, b: Any, key: Any) -> Any:
        mu = x.mean(-1, keepdims=True)
        var = ((x - mu) ** 2).mean(-1, keepdims=True)
        y = gelu((x - mu) * jax.lax.rsqrt(var + 1e-5) * w + b, jnp.tanh)
        return y * (jax.random.uniform(key, y.shape) > 0.1) * (1 / 0.9)

    @jax.jit
    def norm_backward(x: Any, w: Any, b: Any, g: Any, key: Any) -> Any:
        y, pull = jax.vjp(lambda *leaves: norm(*leaves, key), x, w, b)
        return y, *pull(g)

    keys = [jax.random.PRNGKey(0)]
    split = jax.jit(jax.random.split)

    def run_norm() -> Any:
        key, keys[0] = split(keys[0])
        return ready(norm_backward(nx, w, b, ng, key))

    xs, *weights = data["rnn"]

    def rnn(wx: Any, wh: Any, bias: Any) -> Any:
        h, _ = jax.lax.scan(
            lambda h, x: (jnp.tanh(x @ wx + h @ wh + bias), None), jnp.zeros((16, 64)), xs
        )
        return (h * h).mean()

    rnn_backward = jax.jit(jax.value_and_grad(rnn, (0, 1, 2)))
    px, *pp = data["pinn"]

    def pinn(p: Any, x: Any) -> Any:
        def u(x: Any) -> Any:
            return (jnp.tanh(jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]) @ p[4]).sum()

        d2 = jax.grad(lambda x: jax.grad(u)(x).sum())
        return ((d2(x) + jnp.sin(x)) ** 2).mean()

    pinn_backward = jax.jit(jax.value_and_grad(pinn))

    def chain(x: Any) -> Any:
        for _ in range(100):
            x = x * 1.01 + 0.01
        return x

    chained = jax.jit(chain)
    return {
        "gelu": lambda: ready(forward(x)),
        "gelu and backward": lambda: ready(both(x, g)),
        "tiny MLP with Adam": mlp,
        "n-body": lambda: ready(nbody(*data["n-body"])),
        "layer norm, gelu, dropout": run_norm,
        "rnn": lambda: ready(rnn_backward(*weights)),
        "pinn": lambda: ready(pinn_backward(pp, px)),
        "chain of 200": lambda: ready(chained(*data["chain"])),
    }


def model_steps(lib: Any, compiled: bool) -> dict[str, Callable[[], Any]]:
    """Training steps of models, of Genesis."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.heads = heads

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = (
                p.view(b, t, self.heads, -1).transpose(1, 2)
                for p in self.qkv(self.norm1(x)).split(c, -1)
            )
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(256, 192), nn.Embedding(128, 192)
            self.blocks = nn.Sequential(*(Block(192, 6) for _ in range(4)))
            self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 256)

        def forward(self, x: Any) -> Any:
            h = self.tokens(x) + self.places.weight[: x.shape[1]]
            return self.head(self.norm(self.blocks(h)))

    class Residual(nn.Module):
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(a, b, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(b, b, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(b), nn.BatchNorm2d(b)
            self.short = nn.Conv2d(a, b, 1, stride, bias=False) if a != b else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = nn.functional.relu(self.norm1(self.conv1(x)))
            return nn.functional.relu(self.norm2(self.conv2(y)) + self.short(x))

    resnet = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1),
        Residual(16, 16, 1),
        Residual(16, 32, 2),
        Residual(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
    gpt = Gpt()

    def training(model: Any) -> Any:
        optimizer = lib.optim.AdamW(model.parameters(), lr=1e-4)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x).flatten(0, -2), y)
            loss.backward()
            optimizer.step()
            return loss

        return lib.compile(step) if compiled else step

    tokens, images = lib.randint(0, 256, (8, 128)), lib.randn(16, 3, 32, 32)
    after, classes = lib.randint(0, 256, (8 * 128,)), lib.randint(0, 10, (16,))
    gpt_step, resnet_step = training(gpt), training(resnet)
    return {"gpt": lambda: gpt_step(tokens, after), "resnet": lambda: resnet_step(images, classes)}


def best(run: Callable[[], Any], clock: Callable[[], float], seconds: float) -> float:
    """The least time of rounds of 50 ms. In shorter ones, the CPU time of other threads, in which
    jax computes, would be missing: it is added to the clock at ticks, every few milliseconds."""
    for _ in range(5):
        run()
    begin = clock()
    run()
    count = max(1, int(0.05 / max(clock() - begin, 1e-7)))
    least, rounds = math.inf, 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or rounds < 3:
        begin = clock()
        for _ in range(count):
            run()
        least = min(least, (clock() - begin) / count)
        rounds += 1
    return least


def work(framework: str, clock: str, seconds: float, only: str | None) -> dict[str, float]:
    name, _, compiled = framework.partition("-")
    now = time.process_time if clock == "cpu" else time.perf_counter
    found: dict[str, float] = {}
    lib = None if name == "jax" else importlib.import_module(name)
    if lib is None:
        runs = jax_workloads()
    else:
        lib.set_num_threads(1)
        runs = tensor_workloads(lib, bool(compiled))
        if name == "genesis":
            runs |= model_steps(lib, bool(compiled))
    for title, run in runs.items():
        if only and only not in title:
            continue
        try:
            if name == "genesis" and title in ("gpt", "resnet"):
                begin = now()
                run()
                found[f"{title}: first call, ms"] = (now() - begin) * 1e9
                run()
                run()
                gc.collect()
                assert lib is not None
                before = lib.memory.allocated()
                lib.memory.reset_peak()
                run()
                found[f"{title}: peak memory"] = float(lib.memory.peak() - before)
            found[title] = best(run, now, seconds) * 1e6
        except Exception as error:
            print(f"{framework}: {title}: {type(error).__name__}: {error}", file=sys.stderr)
        gc.collect()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--frameworks", default=",".join(FRAMEWORKS))
    parser.add_argument("--only", help="workloads whose name has this text")
    parser.add_argument("--worker")
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(work(given.worker, given.clock, given.seconds, given.only)))
        return
    one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "GENESIS_NUM_THREADS": "1"}
    one["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    results: dict[str, dict[str, float]] = {}
    for framework in given.frameworks.split(","):
        runs: dict[str, list[float]] = {}
        for _ in range(given.runs):
            command = [sys.executable, __file__, "--worker", framework, "--clock", given.clock]
            command += ["--seconds", str(given.seconds)]
            command += ["--only", given.only] if given.only else []
            done = subprocess.run(command, env=os.environ | one, stdout=subprocess.PIPE, text=True)
            if done.returncode:
                break
            for title, value in json.loads(done.stdout.splitlines()[-1]).items():
                runs.setdefault(title, []).append(value)
        results[framework] = {title: statistics.median(v) for title, v in runs.items()}
    titles = list(dict.fromkeys(t for found in results.values() for t in found))
    print(f"{'':28}" + "".join(f"{f:>16}" for f in results))
    for title in titles:
        cells = (results[f].get(title) for f in results)
        scale = 1e6 if "memory" in title or "first" in title else 1
        print(
            f"{title:28}" + "".join(f"{'' if c is None else f'{c / scale:.1f}':>16}" for c in cells)
        )
    print()
    for title, other, most in TARGETS:
        ours, theirs = (
            results.get("genesis-compile", {}).get(title),
            results.get(other, {}).get(title),
        )
        if ours and theirs:
            ratio = ours / theirs
            verdict = "ok" if ratio <= most * 1.05 else "MISSED"
            print(f"{title:28} {ratio:6.2f} of {other:14} wanted {most:.2f}  {verdict}")


if __name__ == "__main__":
    main()
