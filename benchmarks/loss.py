"""Losses and softmax beside PyTorch's, over shapes.

python benchmarks/loss.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
CLASSES = [  # rows, classes
    (64, 10), (1024, 10), (768, 65), (128, 1000), (512, 512), (32, 50257), (4096, 2), (4096, 16),
    (2000, 333), (1, 100), (8, 32000), (10000, 100),
]  # fmt: skip
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("ignore_index", {"ignore_index": 1}),
    ("label_smoothing", {"label_smoothing": 0.1}),
    ("sum", {"reduction": "sum"}),
    ("none", {"reduction": "none"}),
]
PAIRS = [(64, 10), (768, 128), (1000, 1000), (32, 3, 64, 64), (100003,)]
POINTWISE = [
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "gaussian_nll_loss", "poisson_nll_loss",
]  # fmt: skip

Make = Callable[[Any], compare.Run]


def run(lib: Any, call: Callable[[Any], Any], x: Any, backward: bool) -> compare.Run:
    if not backward:
        return lambda: call(x)
    x.requires_grad_(True)
    seed = lib.ones(call(x).shape)
    return compare.forward_and_backward(lambda: call(x), [x], seed)


def softmax(name: str, shape: tuple[int, ...], dim: int, backward: bool) -> Make:
    array = RNG.standard_normal(shape, dtype="float32")

    def make(lib: Any) -> compare.Run:
        f = getattr(lib.nn.functional, name)
        return run(lib, lambda x: f(x, dim=dim), lib.tensor(array), backward)

    return make


def classification(
    name: str, shape: tuple[int, ...], options: dict[str, Any], backward: bool
) -> Make:
    """Classes are along dimension 1."""
    array = RNG.standard_normal(shape, dtype="float32")
    classes = RNG.integers(0, shape[1], (shape[0], *shape[2:]))

    def make(lib: Any) -> compare.Run:
        f, target = getattr(lib.nn.functional, name), lib.tensor(classes)
        return run(lib, lambda x: f(x, target, **options), lib.tensor(array), backward)

    return make


def probabilities(shape: tuple[int, ...], backward: bool) -> Make:
    array = RNG.standard_normal(shape, dtype="float32")
    weights = RNG.random(shape, dtype="float32")
    weights /= weights.sum(1, keepdims=True)

    def make(lib: Any) -> compare.Run:
        f, target = lib.nn.functional.cross_entropy, lib.tensor(weights)
        return run(lib, lambda x: f(x, target), lib.tensor(array), backward)

    return make


def pointwise(name: str, shape: tuple[int, ...], backward: bool) -> Make:
    arrays = [RNG.random(shape, dtype="float32") * 0.98 + 0.01 for _ in range(3)]

    def make(lib: Any) -> compare.Run:
        f = getattr(lib.nn.functional, name)
        x, target, more = (lib.tensor(a) for a in arrays)
        options: dict[str, Any] = {"reduction": "batchmean"} if name == "kl_div" else {}
        rest = (target, more) if name == "gaussian_nll_loss" else (target,)
        return run(lib, lambda x: f(x, *rest, **options), x, backward)

    return make


def workloads() -> list[compare.Work]:
    made: list[compare.Work] = []

    def add(
        group: str, name: str, make: Callable[[bool], Make], forward: float, all: float
    ) -> None:
        """`forward` and `all` are numbers of float32 that are read or written."""
        made.append(compare.Work(group, name, make(False), bytes=4 * forward))
        made.append(compare.Work(group, f"{name} +backward", make(True), bytes=4 * all))

    for name in ("softmax", "log_softmax"):
        for shape in CLASSES:
            size = math.prod(shape)
            make = lambda b, name=name, shape=shape: softmax(name, shape, -1, b)  # noqa: E731
            add(name, compare.shape(*shape), make, 2 * size, 5 * size)
        for shape in ((16, 21, 64, 64), (64, 10, 50)):
            size = math.prod(shape)
            make = lambda b, name=name, shape=shape: softmax(name, shape, 1, b)  # noqa: E731
            add(name, f"{compare.shape(*shape)} over dim 1", make, 2 * size, 5 * size)
    for shape in [*CLASSES, (16, 21, 64, 64), (64, 10, 50)]:
        size = math.prod(shape)
        make = lambda b, shape=shape: classification("cross_entropy", shape, {}, b)  # noqa: E731
        add("cross_entropy", compare.shape(*shape), make, size, 2 * size)
    for title, options in OPTIONS:
        for shape in ((768, 65), (128, 1000)):
            size = math.prod(shape)
            make = lambda b, s=shape, o=options: classification("cross_entropy", s, o, b)  # noqa: E731
            add("cross_entropy", f"{compare.shape(*shape)} {title}", make, size, 2 * size)
    for shape in ((768, 65), (128, 1000)):
        size = math.prod(shape)
        make = lambda b, shape=shape: probabilities(shape, b)  # noqa: E731
        add("cross_entropy", f"{compare.shape(*shape)} probabilities", make, 2 * size, 3 * size)
    for shape in CLASSES[:5]:
        make = lambda b, shape=shape: classification("nll_loss", shape, {}, b)  # noqa: E731
        add("nll_loss", compare.shape(*shape), make, 2 * shape[0], math.prod(shape))
    for name in POINTWISE:
        for shape in PAIRS:
            size = math.prod(shape)
            make = lambda b, name=name, shape=shape: pointwise(name, shape, b)  # noqa: E731
            add(name, compare.shape(*shape), make, 2 * size, 5 * size)
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
