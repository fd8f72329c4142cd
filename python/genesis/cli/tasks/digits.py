"""A convolutional network classifies handwritten digits."""

from __future__ import annotations

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli import data
from genesis.cli.task import Settings, Task
from genesis.data import DataLoader, TensorDataset
from genesis.report import Figure, picture
from genesis.training import warmup_cosine


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3),
        nn.Linear(64 * 4 * 4, 96), nn.ReLU(),
        nn.Linear(96, 10),
    )  # fmt: skip


def shifted(images: Tensor) -> Tensor:
    """Each image shifted by up to a pixel, for augmentation.

    >>> tuple(shifted(genesis.ones(5, 1, 8, 8)).shape)
    (5, 1, 8, 8)
    """
    n = len(images)
    rows, columns = genesis.randint(0, 3, (2, n, 1)) + genesis.arange(8)
    padded = F.pad(images[:, 0], (1, 1, 1, 1))
    return padded[genesis.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]][:, None]


class Digits(Task):
    summary = "A convolutional network classifies handwritten digits (1797 images of 8x8 pixels)."
    epochs = 15
    goal = "test_accuracy"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        images, labels = data.digits()
        self.train = TensorDataset(images[: data.TRAIN], labels[: data.TRAIN])
        self.test = images[data.TRAIN :], labels[data.TRAIN :]
        self.loader = DataLoader(self.train, batch_size=32, shuffle=True)
        self.model = network()
        self.optimizer = optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.01)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(steps))

    def loss(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, dict[str, float]]:
        images, labels = batch
        scores = self.model(shifted(images))
        right = (scores.argmax(1) == labels).float().mean().item()
        return F.cross_entropy(scores, labels), {"accuracy": right}

    @genesis.no_grad()
    def scores(self) -> Tensor:
        """Of the test images."""
        self.model.eval()
        with self.precision():
            scores: Tensor = self.model(self.test[0])
        self.model.train()
        return scores.float()

    def evaluate(self) -> dict[str, float]:
        scores, labels = self.scores(), self.test[1]
        return {
            "test_loss": F.cross_entropy(scores, labels).item(),
            "test_accuracy": (scores.argmax(1) == labels).float().mean().item(),
        }

    def figures(self) -> list[Figure]:
        images, labels = self.test
        sure, guess = F.softmax(self.scores(), 1).max(1)
        counts = genesis.bincount(labels * 10 + guess, minlength=100).reshape(10, 10)
        order = (sure + (guess == labels).float()).argsort()[:24]
        shown = [
            (images[i, 0], f"{labels[i].item()} read as {guess[i].item()}", guess[i] == labels[i])
            for i in order.tolist()
        ]
        return [
            Figure(
                "Confusion matrix",
                picture.confusion(counts.tolist(), [str(i) for i in range(10)]),
                "Test images by true class (rows) and predicted class (columns).",
            ),
            Figure(
                "The hardest images",
                picture.images(shown),
                "Misclassified test images, in red, and those with the least certain predictions.",
            ),
        ]


TASK = Digits
