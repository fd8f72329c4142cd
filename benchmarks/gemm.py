"""Matrix products beside PyTorch's, over shapes.

python benchmarks/gemm.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
SQUARES = [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
ODD = [3, 7, 17, 33, 63, 65, 100, 127, 129, 257, 500, 511, 1001]
FLAT = [  # m, k, n
    (4096, 64, 64), (10000, 128, 16), (64, 64, 4096), (32, 2048, 2048), (2048, 2048, 32),
    (768, 128, 384), (8192, 256, 10), (128, 4096, 128), (16, 16384, 16),
    (1024, 4, 1024), (512, 16, 512), (2048, 1, 2048), (1024, 1024, 3), (4096, 256, 8),
    (8, 512, 4096), (3, 1000, 1000), (1000, 33, 77),
]  # fmt: skip
BATCHES = [  # batch, m, k, n
    (32, 128, 64, 128), (48, 64, 32, 64), (256, 8, 8, 8), (1000, 4, 4, 4), (64, 16, 64, 16),
    (8, 256, 256, 256), (2, 512, 512, 512), (100, 33, 17, 41), (16, 1, 128, 512), (500, 3, 3, 1),
]  # fmt: skip
SIDES = [16, 33, 64, 128, 200, 256, 512, 1024]
LAYERS = [  # rows, inputs, outputs
    (64, 784, 256), (64, 256, 10), (768, 128, 512), (768, 512, 128), (768, 128, 65),
    (256, 1024, 1024), (1, 512, 512), (32, 4, 64), (32, 64, 64), (128, 4096, 1000), (500, 77, 33),
]  # fmt: skip

Make = Callable[[Any], compare.Run]


def product(x: tuple[int, ...], y: tuple[int, ...], dtype: str = "float32") -> Make:
    return prepared(x, y, lambda a: a, lambda b: b, dtype)


def prepared(
    x: tuple[int, ...], y: tuple[int, ...], first: Any, second: Any, dtype: str = "float32"
) -> Make:
    """The product of operands that `first` and `second` have turned or cut."""
    arrays = [RNG.standard_normal(s, dtype="float32") for s in (x, y)]

    def make(lib: Any) -> compare.Run:
        left, right = (lib.tensor(a).to(getattr(lib, dtype)) for a in arrays)
        left, right = first(left), second(right)
        return lambda: lib.matmul(left, right)

    return make


def layer(rows: int, inputs: int, outputs: int, backward: bool) -> Make:
    shapes = (rows, inputs), (outputs, inputs), (outputs,), (rows, outputs)
    arrays = [RNG.standard_normal(s, dtype="float32") for s in shapes]

    def make(lib: Any) -> compare.Run:
        x, w, b, seed = (lib.tensor(a) for a in arrays)
        leaves = [x, w, b]
        if backward:
            for leaf in leaves:
                leaf.requires_grad_(True)

        def call() -> Any:
            return lib.nn.functional.linear(x, w, b)

        return compare.forward_and_backward(call, leaves, seed) if backward else call

    return make


def line(group: str, name: str, make: Make, *sizes: int, size: int = 4) -> compare.Work:
    """Sizes are those of the batch, if any, and m, k, n."""
    *batch, m, k, n = sizes
    count = math.prod(batch)
    return compare.Work(
        group, name, make, 2 * count * m * k * n, size * count * (m * k + k * n + m * n)
    )


def workloads() -> list[compare.Work]:
    made = [line("square", str(n), product((n, n), (n, n)), n, n, n) for n in SQUARES]
    made += [line("odd", str(n), product((n, n), (n, n)), n, n, n) for n in ODD]
    for m, k, n in FLAT:
        made.append(line("oblong", compare.shape(m, k, n), product((m, k), (k, n)), m, k, n))
    for b, m, k, n in BATCHES:
        make = product((b, m, k), (b, k, n))
        made.append(line("batched", compare.shape(b, m, k, n), make, b, m, k, n))
    make = product((64, 32, 64), (64, 64))
    made.append(line("batched", "64x32x64 by 64x64", make, 64 * 32, 64, 64))
    make = prepared((32, 64, 128), (32, 64, 128), lambda x: x, lambda y: y.transpose(1, 2))
    made.append(line("batched", "32x64x128 by its like transposed", make, 32, 64, 128, 64))

    for n in SIDES:
        for name, first, second in (
            ("second", lambda x: x, lambda y: y.t()),
            ("first", lambda x: x.t(), lambda y: y),
            ("both", lambda x: x.t(), lambda y: y.t()),
        ):
            make = prepared((n, n), (n, n), first, second)
            made.append(line("transposed", f"{name} {n}", make, n, n, n))
    for n in (64, 256, 512):
        make = prepared((n, 2 * n), (n, n), lambda x: x[:, ::2], lambda y: y)
        made.append(line("transposed", f"every other column {n}", make, n, n, n))
        make = prepared((n, 2 * n), (2 * n, n), lambda x, n=n: x[:, :n], lambda y: y[::2])
        made.append(line("transposed", f"parts of larger ones {n}", make, n, n, n))

    for m, k in ((64, 64), (1000, 1000), (1024, 4096), (4096, 256), (2048, 2048)):
        matrix, side = compare.shape(m, k), (m, k)
        made.append(line("vector", f"{matrix} by {k}", product(side, (k,)), m, k, 1))
        make = prepared((m,), side, lambda x: x, lambda y: y)
        made.append(line("vector", f"{m} by {matrix}", make, 1, m, k))
        make = prepared((k, m), (k,), lambda x: x.t(), lambda y: y)
        made.append(line("vector", f"{matrix} transposed by {k}", make, m, k, 1))
    for n in (100, 10_000, 1_000_000):
        made.append(line("vector", f"{n} by {n}", product((n,), (n,)), 1, n, 1))

    for dtype in ("bfloat16", "float16"):
        # PyTorch takes five seconds for float16 of 1024.
        for n in (16, 64, 128, 256, 512, 1024) if dtype == "bfloat16" else (16, 64, 128, 256):
            make = product((n, n), (n, n), dtype)
            made.append(line(dtype, str(n), make, n, n, n, size=2))
        for m, k, n in ((768, 128, 384), (64, 784, 256), (8, 1024, 1024), (1, 2048, 2048)):
            make = prepared((m, k), (n, k), lambda x: x, lambda y: y.t(), dtype)
            name = f"{compare.shape(m, k, n)} second transposed"
            made.append(line(dtype, name, make, m, k, n, size=2))
        make = product((32, 128, 64), (32, 64, 128), dtype)
        made.append(line(dtype, "32x128x64x128", make, 32, 128, 64, 128, size=2))
    for n in (16, 64, 256, 512, 1000):
        made.append(
            line("float64", str(n), product((n, n), (n, n), "float64"), 2 * n, n, n, size=4)
        )

    for m, k, n in LAYERS:
        for backward in (False, True):
            title = compare.shape(m, k, n) + (" +backward" if backward else "")
            sizes = (3, m, k, n) if backward else (m, k, n)
            made.append(line("linear", title, layer(m, k, n, backward), *sizes))
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
