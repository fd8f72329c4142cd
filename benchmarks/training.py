"""Training steps (forward, backward, optimizer) of small models beside PyTorch's.

    pip install torch==2.13.0 && python benchmarks/training.py [--only REGEX] [--threads N]

A ratio below 1 says that Genesis is faster. Both run the same lines on the same data.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[], Any]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, dtype="float32")


def classes(count: int, *shape: int) -> np.ndarray:
    return RNG.integers(0, count, shape)


def steps(
    lib: Any, model: Any, optimizer: str, x: np.ndarray, y: np.ndarray, **options: Any
) -> Run:
    update = getattr(lib.optim, optimizer)(model.parameters(), **options)
    inputs, targets = lib.tensor(x), lib.tensor(y)
    integers = targets.dtype == lib.int64
    loss_of = lib.nn.functional.cross_entropy if integers else lib.nn.functional.mse_loss

    def run() -> None:
        update.zero_grad()
        loss_of(model(inputs), targets).backward()
        update.step()

    return run


def mlp(
    sizes: tuple[int, ...], activation: str, x: np.ndarray, y: np.ndarray
) -> Callable[[Any], Run]:
    def make(lib: Any) -> Run:
        layers: list[Any] = []
        for i, o in itertools.pairwise(sizes):
            layers += [lib.nn.Linear(i, o), getattr(lib.nn, activation)()]
        return steps(lib, lib.nn.Sequential(*layers[:-1]), "Adam", x, y)

    return make


def lenet(lib: Any) -> Run:
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    return steps(lib, model, "SGD", IMAGES, DIGITS, lr=0.01, momentum=0.9)


def resnet(lib: Any) -> Run:
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(32, 32, 3, padding=1, bias=False)
            self.conv2 = nn.Conv2d(32, 32, 3, padding=1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(32), nn.BatchNorm2d(32)

        def forward(self, x: Any) -> Any:
            y = nn.functional.relu(self.norm1(self.conv1(x)))
            return nn.functional.relu(self.norm2(self.conv2(y)) + x)

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        Block(), Block(), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    return steps(lib, model, "SGD", PHOTOS, KINDS, lr=0.01, momentum=0.9)


def gpt(lib: Any) -> Run:
    nn, f = lib.nn, lib.nn.functional
    width, heads, depth, length, letters = 128, 4, 4, 64, 65

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = (p.view(b, t, heads, width // heads).transpose(1, 2) for p in parts)
            seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(b, t, width))
            return x + self.down(f.gelu(self.up(self.norm2(x))))

    class GPT(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(depth)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

        def forward(self, text: Any) -> Any:
            x = self.letters(text) + self.places(lib.arange(text.shape[1]))
            return self.head(self.norm(self.blocks(x))).flatten(0, 1)

    return steps(lib, GPT(), "AdamW", TEXT, NEXT.reshape(-1))


def recurrent(kind: str, layers: int) -> Callable[[Any], Run]:
    def make(lib: Any) -> Run:
        class Net(lib.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.rnn = getattr(lib.nn, kind)(64, 128, num_layers=layers)
                self.head = lib.nn.Linear(128, 10)

            def forward(self, x: Any) -> Any:
                return self.head(self.rnn(x)[0][-1])

        return steps(lib, Net(), "Adam", SERIES, LABELS)

    return make


IMAGES, DIGITS = normal(32, 1, 28, 28), classes(10, 32)
PHOTOS, KINDS = normal(16, 3, 32, 32), classes(10, 16)
TEXT, NEXT = classes(65, 12, 64), classes(65, 12, 64)
SERIES, LABELS = normal(32, 32, 64), classes(10, 32)

WORKLOADS = [
    ("MLP 4-64-64-2, batch 32, Adam", mlp((4, 64, 64, 2), "Tanh", normal(32, 4), normal(32, 2))),
    ("MLP 784-256-10, batch 64, Adam",
     mlp((784, 256, 10), "ReLU", normal(64, 784), classes(10, 64))),
    ("LeNet, 28x28, batch 32, SGD", lenet),
    ("3 residual blocks, 32x32, batch 16, SGD", resnet),
    ("character GPT, 4 layers, 128 wide, AdamW", gpt),
    ("LSTM 64-128, 32 steps, batch 32, Adam", recurrent("LSTM", 1)),
    ("GRU 64-128, 2 layers, Adam", recurrent("GRU", 2)),
]  # fmt: skip

if __name__ == "__main__":
    import compare  # here, since memory.py wants the models with one library alone

    compare.main(__doc__, [compare.Work("", *line) for line in WORKLOADS])
