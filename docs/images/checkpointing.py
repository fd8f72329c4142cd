"""Measures the memory of a stack of layers with and without checkpoints; draws checkpointing.svg.

    python docs/images/checkpointing.py

The unit is the memory of one activation. Prints the figures as a table, too.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable

import genesis
from genesis.autograd import checkpoint, checkpoint_sequential

DEPTHS = [4, 9, 16, 25, 36, 49, 64, 81, 100]
WIDTH, BATCH = 32, 512
Layer = Callable[[genesis.Tensor], genesis.Tensor]


def stack(depth: int) -> list[Layer]:
    weights = [genesis.randn(WIDTH, WIDTH, requires_grad=True) for _ in range(depth)]
    return [lambda x, w=w: (x @ w).tanh() for w in weights]


def plain(layers: list[Layer], x: genesis.Tensor) -> genesis.Tensor:
    for layer in layers:
        x = layer(x)
    return x


def square_root(layers: list[Layer], x: genesis.Tensor) -> genesis.Tensor:
    return checkpoint_sequential(layers, math.isqrt(len(layers)), x)


def halves(layers: list[Layer], x: genesis.Tensor) -> genesis.Tensor:
    if len(layers) == 1:
        return layers[0](x)
    middle = len(layers) // 2
    return checkpoint(halves, layers[middle:], checkpoint(halves, layers[:middle], x))


SERIES = [
    ("plain", plain, "#b4443c"),
    ("√n segments", square_root, "#2f6da3"),
    ("halves, nested", halves, "#3f8f5b"),
]


def peak(run: Callable[[list[Layer], genesis.Tensor], genesis.Tensor], depth: int) -> float:
    """The greatest amount of memory during a training step, in activations."""
    layers, x = stack(depth), genesis.randn(BATCH, WIDTH)
    run(layers, x).sum().backward()  # gradients of the weights are there from now on
    before = genesis.memory.allocated()
    genesis.memory.reset_peak()
    run(layers, x).sum().backward()
    return (genesis.memory.peak() - before) / (x.numel() * x.element_size())


def drawing(measured: dict[str, list[float]]) -> str:
    left, top, width, height = 64, 24, 440, 280
    top_value = 20 * math.ceil(max(map(max, measured.values())) / 20)

    def x(depth: float) -> float:
        return left + width * depth / max(DEPTHS)

    def y(value: float) -> float:
        return top + height * (1 - value / top_value)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 648 364" width="648" height="364" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#444">',
        '<rect width="648" height="364" fill="#fff"/>',
    ]
    for value in range(0, top_value + 1, 20):
        parts.append(
            f'<path d="M{left} {y(value):.1f}h{width}" stroke="#ddd"/>'
            f'<text x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>'
        )
    for depth in DEPTHS:
        parts.append(
            f'<text x="{x(depth):.1f}" y="{top + height + 20}" text-anchor="middle">{depth}</text>'
        )
    parts.append(
        f'<text x="{left + width / 2}" y="{top + height + 42}" text-anchor="middle">layers</text>'
        f'<text transform="translate(20 {top + height / 2}) rotate(-90)" text-anchor="middle">'
        "peak memory, in activations</text>"
    )
    for name, _, colour in SERIES:
        points = list(zip(DEPTHS, measured[name], strict=True))
        line = " ".join(f"{x(depth):.1f},{y(value):.1f}" for depth, value in points)
        dots = "".join(f'<circle cx="{x(d):.1f}" cy="{y(v):.1f}" r="3"/>' for d, v in points)
        parts.append(
            f'<g fill="{colour}"><polyline points="{line}" fill="none" stroke="{colour}" '
            f'stroke-width="2"/>{dots}<text x="{left + width + 10}" y="{y(points[-1][1]) + 4:.1f}">'
            f"{name}: {points[-1][1]:.0f}</text></g>"
        )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    measured = {name: [peak(run, depth) for depth in DEPTHS] for name, run, _ in SERIES}
    print(f"{'layers':16}" + "".join(f"{depth:8d}" for depth in DEPTHS))
    for name, values in measured.items():
        print(f"{name:16}" + "".join(f"{value:8.1f}" for value in values))
    pathlib.Path(__file__).with_suffix(".svg").write_text(drawing(measured))


if __name__ == "__main__":
    main()
