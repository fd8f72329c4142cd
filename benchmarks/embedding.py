"""Lookup, gathering and scattering beside PyTorch's, over shapes.

python benchmarks/embedding.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
TABLES = [  # rows, width, lookups
    (65, 128, 768), (10000, 128, 4096), (50257, 64, 1024), (1000, 300, 500), (30000, 768, 128),
    (100, 16, 10000), (100000, 8, 20000), (2, 64, 5000), (512, 512, 64), (7, 3, 33),
    (20000, 1, 20000),
]  # fmt: skip
MATRICES = [(64, 64), (1000, 100), (100, 1000), (512, 512), (10000, 16), (33, 4097)]

Make = Callable[[Any], compare.Run]


def finish(lib: Any, call: Callable[[], Any], leaves: list[Any], backward: bool) -> compare.Run:
    if not backward:
        return call
    for leaf in leaves:
        leaf.requires_grad_(True)
    return compare.forward_and_backward(call, leaves, lib.ones(call().shape))


def lookup(sizes: tuple[int, int, int], options: dict[str, Any], backward: bool) -> Make:
    rows, width, count = sizes
    array = RNG.standard_normal((rows, width), dtype="float32")
    chosen = RNG.integers(0, rows, count)

    def make(lib: Any) -> compare.Run:
        table, index = lib.tensor(array), lib.tensor(chosen)
        return finish(
            lib, lambda: lib.nn.functional.embedding(index, table, **options), [table], backward
        )

    return make


def bag(sizes: tuple[int, int, int], mode: str, backward: bool) -> Make:
    rows, width, count = sizes
    array = RNG.standard_normal((rows, width), dtype="float32")
    chosen = RNG.integers(0, rows, (math.ceil(count / 8), 8))

    def make(lib: Any) -> compare.Run:
        table, index = lib.tensor(array), lib.tensor(chosen)
        return finish(
            lib,
            lambda: lib.nn.functional.embedding_bag(index, table, mode=mode),
            [table],
            backward,
        )

    return make


def rows_of(sizes: tuple[int, int, int], kind: str, backward: bool) -> Make:
    rows, width, count = sizes
    array = RNG.standard_normal((rows, width), dtype="float32")
    more = RNG.standard_normal((count, width), dtype="float32")
    chosen = RNG.integers(0, rows, count)

    def make(lib: Any) -> compare.Run:
        x, source, index = lib.tensor(array), lib.tensor(more), lib.tensor(chosen)
        call, leaves = {
            "index_select": (lambda: lib.index_select(x, 0, index), [x]),
            "x[index]": (lambda: x[index], [x]),
            "index_add": (lambda: lib.index_add(x, 0, index, source), [x, source]),
        }[kind]
        return finish(lib, call, leaves, backward)

    return make


def along(sizes: tuple[int, int], dim: int, kind: str, backward: bool) -> Make:
    arrays = [RNG.standard_normal(sizes, dtype="float32") for _ in range(2)]
    chosen = RNG.integers(0, sizes[dim], sizes)
    # Plain scatter writes each element once: which of two writes wins is not specified.
    unique = np.argsort(RNG.random(sizes), axis=dim)

    def make(lib: Any) -> compare.Run:
        x, source = (lib.tensor(a) for a in arrays)
        index = lib.tensor(unique if kind == "scatter" else chosen)
        call, leaves = {
            "gather": (lambda: lib.gather(x, dim, index), [x]),
            "scatter": (lambda: lib.scatter(x, dim, index, source), [x, source]),
            "scatter_add": (lambda: lib.scatter_add(x, dim, index, source), [x, source]),
        }[kind]
        return finish(lib, call, leaves, backward)

    return make


def workloads() -> list[compare.Work]:
    made: list[compare.Work] = []

    def add(
        group: str, name: str, make: Callable[[bool], Make], forward: float, all: float
    ) -> None:
        """`forward` and `all` are bytes that are read or written."""
        made.append(compare.Work(group, name, make(False), bytes=forward))
        made.append(compare.Work(group, f"{name} +backward", make(True), bytes=all))

    for sizes in TABLES:
        rows, width, count = sizes
        title, read = f"{compare.shape(rows, width)}, {count}", count * (8 + 8 * width)
        all = 2 * read + 4 * rows * width  # the gradient of the whole table is written
        add("embedding", title, lambda b, s=sizes: lookup(s, {}, b), read, all)
    for sizes in TABLES[:3]:
        rows, width, count = sizes
        title, read = f"{compare.shape(rows, width)}, {count} padding", count * (8 + 8 * width)
        all = 2 * read + 4 * rows * width
        add("embedding", title, lambda b, s=sizes: lookup(s, {"padding_idx": 1}, b), read, all)
    for sizes in TABLES[:7]:
        for mode in ("sum", "mean", "max"):
            rows, width, count = sizes
            read = count * (8 + 4 * width) + 4 * math.ceil(count / 8) * width
            all = 2 * read + 4 * rows * width
            title = f"{compare.shape(rows, width)}, {count} {mode}"
            add("embedding_bag", title, lambda b, s=sizes, m=mode: bag(s, m, b), read, all)
    for kind in ("index_select", "x[index]", "index_add"):
        for sizes in TABLES[:8]:
            rows, width, count = sizes
            title, read = f"{compare.shape(rows, width)}, {count}", count * (8 + 8 * width)
            table = 4 * rows * width
            forward, all = (read, 2 * read + table)
            if kind == "index_add":
                forward, all = read + 2 * table, 2 * read + 4 * table
            add(kind, title, lambda b, s=sizes, k=kind: rows_of(s, k, b), forward, all)
    for kind in ("gather", "scatter", "scatter_add"):
        for sizes in MATRICES:
            for dim in (0, 1):
                size = math.prod(sizes)
                forward = size * (16 if kind == "gather" else 24)
                title = f"{compare.shape(*sizes)} dim {dim}"
                make = lambda b, s=sizes, d=dim, k=kind: along(s, d, k, b)  # noqa: E731
                add(kind, title, make, forward, 2 * forward)
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
