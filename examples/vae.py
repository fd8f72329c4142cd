"""A variational autoencoder learns to draw digits; the picture walks through what it imagines.

The encoder gives a normal distribution over two numbers for each image, the decoder an image for
two numbers. Sampling is written as mean + deviation * noise, so gradients pass through it.

python examples/vae.py [--smoke] [--picture vae.svg]
"""

import argparse
import base64
import pathlib
import struct
import zlib

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli.data import digits
from genesis.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Flatten(), nn.Linear(64, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 4),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(2, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 64), nn.Unflatten(1, (1, 8, 8)),
        )  # fmt: skip

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The reconstruction loss and the KL divergence from the standard normal."""
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        z = mean + (log_variance / 2).exp() * genesis.randn_like(mean)
        logits = self.decoder(z)
        reconstruction = F.binary_cross_entropy_with_logits(logits, images, reduction="sum")
        divergence = (mean**2 + log_variance.exp() - 1 - log_variance).sum() / 2
        return reconstruction / len(images), divergence / len(images)


def png(pixels: Tensor) -> str:
    """Greys from 0 to 255, (height, width), as an address that a picture can hold."""
    height, width = pixels.shape
    rows = pixels.round().to(genesis.uint8).tolist()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9))
    data = b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


@genesis.no_grad()
def draw(model: VAE, size: int = 14) -> str:
    """Images for a grid of points, spread as the normal distribution is."""
    steps = genesis.linspace(0.03, 0.97, size)
    axis = 2**0.5 * genesis.erfinv(2 * steps - 1)
    z = genesis.stack([axis.repeat(size), axis.repeat_interleave(size)], dim=1)
    images = F.pad(model.decoder(z).sigmoid(), (1, 1, 1, 1))
    page = images.reshape(size, size, 10, 10).permute(0, 2, 1, 3).reshape(size * 10, size * 10)
    side = 4 * 10 * size
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" width="{side}" '
        f'height="{side}">',
        f'<image width="{side}" height="{side}" style="image-rendering:pixelated" '
        f'href="{png(255 * (1 - page))}"/>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="two epochs only")
    parser.add_argument("--picture", type=pathlib.Path, default="vae.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    images, _ = digits()
    loader = DataLoader(TensorDataset(images), batch_size=64, shuffle=True)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=2e-3)
    epochs = 2 if args.smoke else 80
    for epoch in range(1, epochs + 1):
        total = genesis.zeros(2)
        for (batch,) in loader:
            reconstruction, divergence = model(batch)
            optimizer.zero_grad()
            (reconstruction + divergence).backward()
            optimizer.step()
            total += genesis.stack([reconstruction, divergence]).detach() / len(loader)
        if epoch % max(1, epochs // 10) == 0:
            print(f"epoch {epoch:3d}  reconstruction {total[0]:.3f}  divergence {total[1]:.3f}")
    args.picture.write_text(draw(model, size=4 if args.smoke else 14))


if __name__ == "__main__":
    main()
