"""A small network tells two moons apart; the picture shows what it thinks of the whole plane.

python examples/moons.py [--smoke] [--picture moons.svg]
"""

import argparse
import base64
import math
import pathlib
import struct
import zlib

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim

GRID = 60


def moons(n: int, noise: float = 0.15) -> tuple[Tensor, Tensor]:
    """Points on two half circles that reach into each other, and which one each is on."""
    label = genesis.arange(n) % 2
    angle = genesis.rand(n) * math.pi
    sign = 1 - 2 * label
    xy = genesis.stack([angle.cos() * sign + label, angle.sin() * sign + label / 2], dim=1)
    return xy + noise * genesis.randn(n, 2), label


def png(pixels: Tensor) -> str:
    """Colours from 0 to 255, (height, width, 3), as an address that a picture can hold."""
    height, width, _ = pixels.shape
    rows = pixels.round().to(genesis.uint8).flatten(1).tolist()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9))
    data = b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode()


def draw(model: nn.Module, xy: Tensor, label: Tensor) -> str:
    """The probability of the second moon as a colour, and the points."""
    across = genesis.linspace(-1.6, 2.6, GRID)
    down = genesis.linspace(1.8, -1.3, GRID)
    plane = genesis.stack([across.repeat(GRID), down.repeat_interleave(GRID)], dim=1)
    with genesis.no_grad():
        chance = model(plane).softmax(dim=1)[:, 1].reshape(GRID, GRID, 1)
    red, blue = genesis.tensor([244.0, 208.0, 200.0]), genesis.tensor([200.0, 222.0, 240.0])
    field = png(red + (blue - red) * chance)
    marks = [f'<image width="480" height="360" preserveAspectRatio="none" href="{field}"/>']
    for (x, y), kind in zip(xy.tolist(), label.tolist(), strict=True):
        marks.append(
            f'<circle cx="{(x + 1.6) / 4.2 * 480:.1f}" cy="{(1.8 - y) / 3.1 * 360:.1f}" r="3" '
            f'fill="{("#b4443c", "#2f6da3")[kind]}"/>'
        )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 360" width="480" height="360">'
    return "\n".join([head, *marks, "</svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="moons.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    x, label = moons(400)
    test_x, test_label = moons(400)
    model = nn.Sequential(
        nn.Linear(2, 32), nn.Tanh(),
        nn.Linear(32, 32), nn.Tanh(),
        nn.Linear(32, 2),
    )  # fmt: skip
    optimizer = optim.AdamW(model.parameters(), lr=1e-2)

    for step in range(1, (40 if args.smoke else 300) + 1):
        loss = F.cross_entropy(model(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            with genesis.no_grad():
                right = (model(test_x).argmax(dim=1) == test_label).float().mean()
            print(f"step {step:4d}  loss {loss:.4f}  accuracy on new points {right:.3f}")

    args.picture.write_text(draw(model, x, label))


if __name__ == "__main__":
    main()
