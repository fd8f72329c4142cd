"""Steps of every optimizer beside PyTorch's: few large parameters, many small ones.

python benchmarks/optimizer.py [--only REGEX] [--threads N] [--plot FILE.svg]
"""

import math
from collections.abc import Callable
from typing import Any

import compare
import numpy as np

RNG = np.random.default_rng(0)
MODELS: dict[str, list[tuple[int, ...]]] = {
    "1 of 1000x1000": [(1000, 1000)],
    "4 of 512x512": [(512, 512)] * 4,
    "200 of 16": [(16,)] * 200,
    "50 of 64x64, 50 of 64": [(64, 64), (64,)] * 50,
}
# Names, options and the numbers that a step must read or write for each number of the parameters.
OPTIMIZERS: list[tuple[str, dict[str, Any], int]] = [
    ("SGD", {"lr": 1e-3}, 3),
    ("SGD", {"lr": 1e-3, "momentum": 0.9}, 5),
    ("SGD", {"lr": 1e-3, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-2}, 5),
    ("Adam", {}, 7),
    ("Adam", {"amsgrad": True}, 9),
    ("AdamW", {}, 7),
    ("NAdam", {}, 7),
    ("RAdam", {}, 7),
    ("Adamax", {}, 7),
    ("Adagrad", {}, 5),
    ("Adadelta", {}, 7),
    ("RMSprop", {}, 5),
    ("RMSprop", {"momentum": 0.9, "centered": True}, 9),
    ("Rprop", {}, 7),
    ("ASGD", {}, 5),
    ("Adafactor", {}, 3),
    ("Muon", {}, 0),
]


def work(name: str, options: dict[str, Any], shapes: list[tuple[int, ...]]) -> Any:
    arrays = [RNG.standard_normal(s, dtype="float32") for s in shapes for _ in range(2)]

    def make(lib: Any) -> compare.Run:
        parameters = []
        for value, grad in zip(arrays[::2], arrays[1::2], strict=True):
            parameter = lib.tensor(value).requires_grad_(True)
            parameter.grad = lib.tensor(grad)
            parameters.append(parameter)
        step: Callable[[], Any] = getattr(lib.optim, name)(parameters, **options).step
        return step

    return make


def workloads() -> list[compare.Work]:
    made = []
    for model, shapes in MODELS.items():
        for name, options, passes in OPTIMIZERS:
            if name == "Muon" and (any(len(s) != 2 for s in shapes) or "1000" in model):
                continue  # takes matrices only
            extra = [k if isinstance(v, bool) else f"{k} {v}" for k, v in options.items()]
            title = ", ".join([name, *(word for word in extra if not word.startswith("lr"))])
            size = sum(math.prod(s) for s in shapes)
            make = work(name, options, shapes)
            made.append(compare.Work(model, title, make, bytes=4 * passes * size))
    return made


if __name__ == "__main__":
    compare.main(__doc__, workloads())
