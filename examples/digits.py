"""A convolutional network reads handwritten digits: 8 by 8 pixels, 1797 of them, real ones.

python examples/digits.py [--smoke] [--picture digits.svg]
"""

import argparse
import base64
import pathlib
import struct
import zlib

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli.data import TRAIN, digits
from genesis.data import DataLoader, TensorDataset


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 10),
    )  # fmt: skip


@genesis.no_grad()
def probabilities(model: nn.Module, images: Tensor) -> Tensor:
    model.eval()  # batch norm by what it learned, no dropout
    chances = model(images).softmax(dim=1)
    model.train()
    return chances


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


def draw(images: Tensor, labels: Tensor, chances: Tensor) -> str:
    """The 24 digits that the network was least sure of, with its reading; wrong ones in red."""
    sure, guess = chances.max(dim=1)
    parts = []
    for place, i in enumerate(sure.argsort()[:24].tolist()):
        left, top = 12 + place % 8 * 72, 10 + place // 8 * 104
        parts.append(
            f'<image x="{left}" y="{top}" width="64" height="64" style="image-rendering:pixelated" '
            f'href="{png(255 * (1 - images[i, 0]))}"/>'
        )
        right = guess[i] == labels[i]
        text = f"{guess[i].item()}" if right else f"{guess[i].item()}, not {labels[i].item()}"
        parts.append(
            f'<text x="{left}" y="{top + 80}" fill="{"#444" if right else "#b4443c"}">{text}</text>'
            f'<text x="{left}" y="{top + 92}" fill="#888">{100 * sure[i].item():.0f} %</text>'
        )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 590 324" width="590" height="324" '
        'font-family="system-ui, sans-serif" font-size="11">',
        '<rect width="590" height="324" fill="#f4f4f0"/>',
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a part of one epoch only")
    parser.add_argument("--picture", type=pathlib.Path, default="digits.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    images, labels = digits()
    test_images, test_labels = images[TRAIN:], labels[TRAIN:]
    count = 320 if args.smoke else TRAIN
    loader = DataLoader(TensorDataset(images[:count], labels[:count]), batch_size=32, shuffle=True)

    model = network()
    epochs = 1 if args.smoke else 12
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=epochs * len(loader))
    for epoch in range(1, epochs + 1):
        total = 0.0
        for batch, label in loader:
            loss = F.cross_entropy(model(batch), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() / len(loader)
        right = (probabilities(model, test_images).argmax(dim=1) == test_labels).float().mean()
        print(f"epoch {epoch:2d}  loss {total:.4f}  accuracy on others' digits {right:.4f}")

    args.picture.write_text(draw(test_images, test_labels, probabilities(model, test_images)))


if __name__ == "__main__":
    main()
