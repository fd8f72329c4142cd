"""Complex products and Fourier transforms beside PyTorch's.

python benchmarks/complex.py [--only REGEX] [--threads N]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
SQUARES = [16, 64, 128, 256, 512, 1024]
POWERS = [(4096, 16), (1024, 64), (1024, 256), (256, 1024), (64, 4096), (8, 65536), (1, 1 << 20)]
OTHERS = [(1024, 60), (512, 100), (256, 1000), (256, 360), (128, 1009), (64, 2310), (16, 10007)]

Make = Callable[[Any], compare.Run]


def numbers(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(np.complex64)


def product(n: int) -> Make:
    a, b = numbers(n, n), numbers(n, n)

    def make(lib: Any) -> compare.Run:
        x, y = lib.from_numpy(a), lib.from_numpy(b)
        return lambda: x @ y

    return make


def pointwise(name: str, count: int) -> Make:
    a, b = numbers(count), numbers(count)

    def make(lib: Any) -> compare.Run:
        x, y = lib.from_numpy(a), lib.from_numpy(b)
        return (lambda: x * y) if name == "mul" else lambda: getattr(lib, name)(x)

    return make


def transform(name: str, batch: int, n: int) -> Make:
    values = numbers(batch, n)
    array = np.ascontiguousarray(values.real) if name == "rfft" else values

    def make(lib: Any) -> compare.Run:
        x = lib.from_numpy(array)
        return lambda: getattr(lib.fft, name)(x)

    return make


def planes(name: str, *shape: int) -> Make:
    values = numbers(*shape)

    def make(lib: Any) -> compare.Run:
        x = lib.from_numpy(values)
        return lambda: getattr(lib.fft, name)(x)

    return make


def workloads() -> list[compare.Work]:
    made = [compare.Work("matmul", str(n), product(n), 8 * n**3, 24 * n * n) for n in SQUARES]
    made += [compare.Work("1M", name, pointwise(name, 1 << 20)) for name in ("mul", "abs", "exp")]
    for group, sizes in (("powers of two", POWERS), ("other lengths", OTHERS)):
        for name in ("fft", "rfft"):
            for b, n in sizes:
                title = f"{name} {compare.shape(b, n)}"
                flops = 5 * b * n * math.log2(n) / (1 + (name == "rfft"))
                made.append(compare.Work(group, title, transform(name, b, n), flops))
    for shape in [(16, 64, 64), (4, 256, 256)]:
        made.append(compare.Work("planes", f"fft2 {compare.shape(*shape)}", planes("fft2", *shape)))
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
