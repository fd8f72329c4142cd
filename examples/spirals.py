"""A small network learns to tell two spirals apart: all there is to training, and a picture of it.

python examples/spirals.py [--steps 1500] [--smoke] [--picture spirals.svg]
"""

import argparse
import base64
import math
import pathlib
import struct
import time
import zlib
from collections.abc import Callable

import genesis
import genesis.nn.functional as F
from genesis import nn, optim


def spirals(n: int) -> tuple[genesis.Tensor, genesis.Tensor]:
    """Points on two interleaved spirals, with some noise, and which spiral each is on."""
    label = genesis.arange(n) % 2
    turn = genesis.rand(n).sqrt() * 3 * math.pi
    angle = turn + label * math.pi
    xy = genesis.stack([turn * angle.cos(), turn * angle.sin()], dim=1) / (3 * math.pi)
    return xy + 0.01 * genesis.randn(n, 2), label


def layer(inputs: int, outputs: int) -> list[nn.Parameter]:
    bound = 1 / math.sqrt(inputs)
    return [
        nn.Parameter(genesis.empty(outputs, inputs).uniform_(-bound, bound)),
        nn.Parameter(genesis.empty(outputs).uniform_(-bound, bound)),
    ]


def png(pixels: genesis.Tensor) -> str:
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


def draw(network: Callable[[genesis.Tensor], genesis.Tensor], xy: genesis.Tensor) -> str:
    """Where the network sees which spiral, and the points of both."""
    size, axis = 60, genesis.linspace(-1.1, 1.1, 60)
    with genesis.no_grad():
        plane = genesis.stack([axis.repeat(size), axis.repeat_interleave(size)], dim=1)
        chance = network(plane).exp()[:, 1].reshape(size, size, 1)
    red, blue = genesis.tensor([246.0, 220.0, 212.0]), genesis.tensor([206.0, 228.0, 242.0])
    field = png(red + (blue - red) * chance)
    marks = [f'<image width="420" height="420" href="{field}"/>']
    for i, (x, y) in enumerate(xy.tolist()):
        colour = ("#b4443c", "#2f6da3")[i % 2]
        place = f'cx="{(x + 1.1) / 2.2 * 420:.1f}" cy="{(y + 1.1) / 2.2 * 420:.1f}"'
        marks.append(f'<circle {place} r="2" fill="{colour}"/>')
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 420" width="420" height="420">'
    return "\n".join([head, *marks, "</svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, help="draw what was learned")
    args = parser.parse_args()
    steps = 100 if args.smoke else args.steps

    genesis.manual_seed(0)
    x, label = spirals(1000)
    test_x, test_label = spirals(1000)
    layers = [layer(2, 64), layer(64, 64), layer(64, 2)]
    optimizer = optim.SGD([p for pair in layers for p in pair], lr=0.2, momentum=0.9)

    def network(x: genesis.Tensor) -> genesis.Tensor:
        for weight, bias in layers[:-1]:
            x = F.linear(x, weight, bias).tanh()
        return F.log_softmax(F.linear(x, *layers[-1]), dim=1)

    def accuracy(x: genesis.Tensor, label: genesis.Tensor) -> float:
        with genesis.no_grad():
            return (network(x).argmax(dim=1) == label).float().mean().item()

    start = time.perf_counter()
    for step in range(1, steps + 1):
        loss = -network(x).gather(1, label.unsqueeze(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step:5d}/{steps}  loss {loss.item():.4f}  "
                  f"accuracy {accuracy(x, label):.3f}", flush=True)  # fmt: skip
    seconds = time.perf_counter() - start
    final = accuracy(test_x, test_label)
    print(f"{steps} steps in {seconds:.2f} s; accuracy on new points {final:.3f}")
    if args.picture:
        args.picture.write_text(draw(network, x))


if __name__ == "__main__":
    main()
