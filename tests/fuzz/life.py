"""A long life: random models trained, copied, saved, loaded and dropped, with threads and batches.

Tensors hold no more memory afterwards than before, and what a process holds after its first 20,000
cases is all that it ever holds: resident memory stays within 1 %.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import io
import os
import random
import tempfile
import threading
import warnings
from collections.abc import Iterator

import genesis
import numpy as np
from genesis import nn
from genesis.data import DataLoader, TensorDataset

from tests.fuzz.finding import Finding
from tests.fuzz.models import OPTIMIZERS, SCHEDULERS, Plan, train
from tests.fuzz.target import Target

WARM_UP = 20_000  # cases before resident memory is compared
EVERY = 100  # cases from one look to the next
ALLOWED = 1.01


def resident() -> int:
    """Bytes in memory, once all that can be given back has been."""
    gc.collect()
    genesis.memory.empty_cache()
    with contextlib.suppress(AttributeError):  # a C library without it
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Life(Target):
    seconds = 60.0
    memory = 8 << 30
    count_names = ("KB resident after the warm-up", "KB resident at the last look", "KB at most")

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        self.folder = tempfile.TemporaryDirectory()
        self.done = 0
        self.base = 0
        for dtype in (
            "bool",
            "int64",
            "float16",
            "float32",
            "float64",
        ):  # vmap keeps one element each
            genesis.vmap(lambda t: t.clone())(genesis.ones(2, dtype=getattr(genesis, dtype)))
        self.tensors = genesis.memory.allocated()
        self.activities = [self.train, self.train, self.files, self.threads, self.batches, self.graphs, self.failures, self.transforms]  # fmt: skip

    def case(self, rng: random.Random) -> Iterator[Finding]:
        activity = rng.choice(self.activities)
        self.note(f"{activity.__name__}(")
        activity(rng)
        self.done += 1
        if self.done % 20 == 0:
            gc.collect()
            if genesis.memory.allocated() > self.tensors:
                left = genesis.memory.allocated() - self.tensors
                self.tensors = genesis.memory.allocated()
                yield Finding("leak", "life", f"{left} bytes are still allocated, 20 cases later")
        if self.done == WARM_UP:
            self.base = resident()
            self.counts[:3] = [self.base >> 10] * 3
        elif self.done > WARM_UP and self.done % EVERY == 0:
            now = resident()
            self.counts[1] = now >> 10
            self.counts[2] = max(self.counts[2], now >> 10)
            if now > ALLOWED * self.base:
                text = (
                    f"{self.base:,} bytes resident after {WARM_UP} cases, {now:,} after {self.done}"
                )
                yield Finding("memory grows", "life", text)

    def model(self, rng: random.Random) -> tuple[str, np.ndarray]:
        plan = Plan(rng)
        shape = plan.shape
        return plan.text(), np.random.default_rng(rng.getrandbits(30)).normal(size=shape).astype(
            np.float32
        )

    def train(self, rng: random.Random) -> None:
        text, x = self.model(rng)
        name = rng.choice(list(OPTIMIZERS))
        optimizer = f"{name}(parameters, {rng.choice(OPTIMIZERS[name])})"
        train(genesis, text, optimizer, rng.choice(["", *SCHEDULERS]), None, x, rng.randint(1, 4))

    def files(self, rng: random.Random) -> None:
        model = eval(self.model(rng)[0], {"nn": nn})
        path = os.path.join(self.folder.name, rng.choice(["a.safetensors", "a.pt"]))
        genesis.save(model.state_dict(), path)
        copy.deepcopy(model).load_state_dict(genesis.load(path, mmap=rng.random() < 0.5))
        file = io.BytesIO()
        genesis.save({"x": genesis.ones(rng.randrange(20_000)), "n": [1, "a"]}, file)
        file.seek(0)
        genesis.load(file)

    def threads(self, rng: random.Random) -> None:
        """Several threads through one shared parameter, backward at the same time."""
        shared = nn.Linear(20, 20)
        x = genesis.ones(rng.choice([5, 300]), 20)

        def work() -> None:
            for _ in range(3):
                (shared(x) ** 2).mean().backward()

        running = [threading.Thread(target=work) for _ in range(3)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    def batches(self, rng: random.Random) -> None:
        data = TensorDataset(genesis.arange(60.0).reshape(20, 3), genesis.arange(20))
        workers = 1 if rng.random() < 0.02 else 0  # a process takes long to start
        for x, y in DataLoader(data, batch_size=4, shuffle=True, num_workers=workers):
            (x.sum() + y.sum()).item()

    def graphs(self, rng: random.Random) -> None:
        """Graphs, some in cycles, that are dropped without a backward pass."""
        x = genesis.ones(rng.randrange(1, 3000), requires_grad=True)
        y = x
        for _ in range(rng.randrange(50)):
            y = (y * 1.01).sin() + x
        y.keep = y
        x.register_hook(lambda g, y=y: g)
        if rng.random() < 0.5:
            y.sum().backward()

    def failures(self, rng: random.Random) -> None:
        for wrong in (lambda: genesis.ones(3) + genesis.ones(4), lambda: genesis.zeros(2**45), lambda: genesis.load(io.BytesIO(b"x" * 99)), lambda: nn.Linear(2, 3)(genesis.ones(3, 3))):  # fmt: skip
            with contextlib.suppress(Exception):
                wrong()

    def transforms(self, rng: random.Random) -> None:
        x = genesis.arange(float(rng.randrange(1, 6)))
        genesis.func.jacrev(lambda t: (t**3).sin())(x)
        genesis.utils.checkpoint.checkpoint(
            lambda t: t.exp().sin(), x.requires_grad_(), use_reentrant=False
        ).sum().backward()
