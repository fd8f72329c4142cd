"""A variational autoencoder folds handwritten digits into two numbers, and draws new ones."""

from __future__ import annotations

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli import data
from genesis.cli.task import Settings, Task
from genesis.data import DataLoader, TensorDataset
from genesis.report import Figure, picture
from genesis.training import warmup_cosine


class Autoencoder(nn.Module):
    """From images to a place on a plane, with how sure it is, and back.

    >>> tuple(Autoencoder().decode(genesis.zeros(3, 2)).shape)
    (3, 64)
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 128), nn.GELU(), nn.Linear(128, 4)
        )
        self.decode = nn.Sequential(
            nn.Linear(2, 128), nn.GELU(), nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 64)
        )

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The middle of where each image lies, and the logarithm of the variance."""
        middle, log_variance = self.encoder(images).chunk(2, 1)
        return middle, log_variance


class VAE(Task):
    summary = (
        "A variational autoencoder folds handwritten digits into two numbers, and draws new ones."
    )
    epochs = 40
    goal = "test_loss"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        images, self.labels = data.digits()
        self.images = images.flatten(1)
        self.test = self.images[data.TRAIN :]
        self.loader = DataLoader(TensorDataset(self.images[: data.TRAIN]), 64, shuffle=True)
        self.model = Autoencoder()
        self.optimizer = optim.Adam(self.model.parameters(), lr=3e-3)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(steps))

    def bound(self, images: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """How badly images are drawn again, and how much is told about each, in nats."""
        middle, log_variance = self.model.encode(images)
        place = middle + noise * (0.5 * log_variance).exp()
        drawn = self.model.decode(place)
        drawing = F.binary_cross_entropy_with_logits(drawn, images, reduction="sum") / len(images)
        told = 0.5 * (middle**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
        return drawing, told

    def loss(self, batch: tuple[Tensor]) -> tuple[Tensor, dict[str, float]]:
        (images,) = batch
        drawing, told = self.bound(images, genesis.randn(len(images), 2))
        return drawing + told, {"drawing": drawing.item(), "told": told.item()}

    @genesis.no_grad()
    def evaluate(self) -> dict[str, float]:
        with self.precision():
            drawing, told = self.bound(self.test, genesis.zeros(len(self.test), 2))
        return {"test_loss": (drawing + told).item()}

    @genesis.no_grad()
    def figures(self) -> list[Figure]:
        steps = genesis.linspace(-2.2, 2.2, 16)
        grid = genesis.stack(genesis.meshgrid([steps, -steps], indexing="xy"), -1)
        drawn = self.model.decode(grid.reshape(-1, 2)).sigmoid().reshape(16, 16, 8, 8)
        places = self.model.encode(self.images)[0].clamp(-3.4, 3.4)
        groups = [places[self.labels == k].tolist() for k in range(10)]
        names = [f"digit {k}" for k in range(10)]
        again = self.model.decode(self.model.encode(self.test[:16])[0]).sigmoid()
        return [
            Figure(
                "All that it can draw",
                picture.sheet([list(row) for row in drawn]),
                "Images at places of the plane from -2.2 to 2.2: a digit turns into the next.",
            ),
            Figure(
                "Where digits lie",
                picture.scatter(groups, (-3.5, 3.5, -3.5, 3.5), names=names, radius=2.2),
                "Each image at its place, coloured by its digit, which the model was never told.",
            ),
            Figure(
                "Drawn again",
                picture.sheet(
                    [list(rows.reshape(16, 8, 8)) for rows in (self.test[:16], again)], gap=8
                ),
                "Test images above, and what two numbers keep of them below.",
            ),
        ]


TASK = VAE
