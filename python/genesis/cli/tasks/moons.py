"""A small network separates two half moons."""

from __future__ import annotations

import math

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli.task import Settings, Task
from genesis.data import DataLoader, TensorDataset
from genesis.report import Figure, picture


def moons(n: int, noise: float = 0.15) -> tuple[Tensor, Tensor]:
    """Points on two interleaved half circles, and the half circle of each point.

    >>> points, labels = moons(100)
    >>> tuple(points.shape), labels.sum().item()
    ((100, 2), 50)
    """
    label = genesis.arange(n) % 2
    angle = genesis.rand(n) * math.pi
    side = 1.0 - 2.0 * label  # the second one is mirrored and moved to the right and down
    points = genesis.stack([side * angle.cos() + label, side * angle.sin() + 0.5 * label], 1)
    return points + noise * genesis.randn(n, 2), label


class Moons(Task):
    summary = "A small network separates two half moons (generated points with noise)."
    epochs = 20
    goal = "test_accuracy"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.points, self.labels = moons(1000)
        self.test = moons(1000)
        self.loader = DataLoader(TensorDataset(self.points, self.labels), 50, shuffle=True)
        self.model = nn.Sequential(
            nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)
        )
        self.optimizer = optim.Adam(self.model.parameters(), lr=5e-3)

    def loss(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, dict[str, float]]:
        points, labels = batch
        scores = self.model(points)
        right = (scores.argmax(1) == labels).float().mean().item()
        return F.cross_entropy(scores, labels), {"accuracy": right}

    @genesis.no_grad()
    def evaluate(self) -> dict[str, float]:
        points, labels = self.test
        with self.precision():
            scores = self.model(points)
        return {
            "test_loss": F.cross_entropy(scores.float(), labels).item(),
            "test_accuracy": (scores.argmax(1) == labels).float().mean().item(),
        }

    @genesis.no_grad()
    def figures(self) -> list[Figure]:
        points, labels = self.test
        box = (-1.6, 2.6, -1.2, 1.7)  # left, right, bottom, top
        x, y = genesis.linspace(box[0], box[1], 126), genesis.linspace(box[3], box[2], 87)
        grid = genesis.stack(genesis.meshgrid([x, y], indexing="xy"), -1)
        sure = F.softmax(self.model(grid.reshape(-1, 2)), 1)[:, 1].reshape(87, 126)
        groups = [points[labels == k][:250].tolist() for k in (0, 1)]
        return [
            Figure(
                "Decision regions",
                picture.scatter(
                    groups,
                    box,
                    background=sure.tolist(),
                    names=["first moon", "second moon"],
                    scale=("first", "second"),
                ),
                "Test points of both moons over the predicted probability at each position.",
            )
        ]


TASK = Moons
