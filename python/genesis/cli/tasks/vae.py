"""A variational autoencoder encodes handwritten digits in two numbers and generates new ones."""

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
    """Encodes an image as a normal distribution over a plane, and decodes points of the plane.

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
        """The mean and the logarithm of the variance of the code of each image."""
        mean, log_variance = self.encoder(images).chunk(2, 1)
        return mean, log_variance


class VAE(Task):
    summary = "A variational autoencoder encodes digits in two numbers and generates new ones."
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
        """Reconstruction loss and KL divergence per image, in nats."""
        mean, log_variance = self.model.encode(images)
        code = mean + noise * (0.5 * log_variance).exp()
        logits = self.model.decode(code)
        reconstruction = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
        kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
        return reconstruction / len(images), kl

    def loss(self, batch: tuple[Tensor]) -> tuple[Tensor, dict[str, float]]:
        (images,) = batch
        reconstruction, kl = self.bound(images, genesis.randn(len(images), 2))
        return reconstruction + kl, {"reconstruction": reconstruction.item(), "kl": kl.item()}

    @genesis.no_grad()
    def evaluate(self) -> dict[str, float]:
        with self.precision():
            reconstruction, kl = self.bound(self.test, genesis.zeros(len(self.test), 2))
        return {"test_loss": (reconstruction + kl).item()}

    @genesis.no_grad()
    def figures(self) -> list[Figure]:
        steps = genesis.linspace(-2.2, 2.2, 16)
        grid = genesis.stack(genesis.meshgrid([steps, -steps], indexing="xy"), -1)
        decoded = self.model.decode(grid.reshape(-1, 2)).sigmoid().reshape(16, 16, 8, 8)
        codes = self.model.encode(self.images)[0].clamp(-3.4, 3.4)
        groups = [codes[self.labels == k].tolist() for k in range(10)]
        names = [f"digit {k}" for k in range(10)]
        rebuilt = self.model.decode(self.model.encode(self.test[:16])[0]).sigmoid()
        return [
            Figure(
                "Decoded points of the plane",
                picture.sheet([list(row) for row in decoded]),
                "Images decoded from a grid of points between -2.2 and 2.2.",
            ),
            Figure(
                "Codes of the images",
                picture.scatter(groups, (-3.5, 3.5, -3.5, 3.5), names=names, radius=2.2),
                "The code of each image, coloured by digit. The model was trained without labels.",
            ),
            Figure(
                "Reconstruction",
                picture.sheet(
                    [list(rows.reshape(16, 8, 8)) for rows in (self.test[:16], rebuilt)],
                    gap=8,
                ),
                "Test images above, their reconstructions from two numbers below.",
            ),
        ]


TASK = VAE
