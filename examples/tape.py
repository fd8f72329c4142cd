"""Newton's method with tapes: gradients and curvature of tensors that never asked for any.

A Tape watches every floating tensor while it records, so nothing has to say requires_grad, and
gradients come back as values instead of being written into .grad. Tapes nest: the gradient that the
inner one computes is itself recorded by the outer one, which gives the second derivatives.

python examples/tape.py [--smoke] [--picture tape.svg]
"""

import argparse
import base64
import pathlib
import struct
import zlib

import genesis
from genesis import Tape, Tensor


def valley(p: Tensor) -> Tensor:
    """Rosenbrock's function: a narrow bent valley with its lowest point at (1, 1)."""
    x, y = p[0], p[1]
    return (1 - x) ** 2 + 10 * (y - x**2) ** 2


def slope(p: Tensor) -> tuple[float, Tensor]:
    tape = Tape()
    with tape:
        height = valley(p)
    return height.item(), tape.backward(height)[p]


def slope_and_curvature(p: Tensor) -> tuple[Tensor, Tensor]:
    rows = []
    for i in range(2):
        outer, inner = Tape(), Tape()
        with outer:
            with inner:
                height = valley(p)
            first = inner.backward(height)[p]
            component = first[i]
        rows.append(outer.backward(component)[p])
    return first.detach(), genesis.stack(rows)


def descend(p: Tensor, steps: int, rate: float) -> list[Tensor]:
    path = [p]
    for _ in range(steps):
        _, gradient = slope(p)
        p = p - rate * gradient
        path.append(p)
    return path


def newton(p: Tensor, steps: int) -> list[Tensor]:
    path = [p]
    for _ in range(steps):
        gradient, curvature = slope_and_curvature(p)
        p = p - genesis.linalg.solve(curvature, gradient)
        path.append(p)
    return path


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


def draw(paths: list[tuple[str, str, list[Tensor]]]) -> str:
    """The height as shades, and the paths down."""

    def place(x: float, y: float) -> tuple[float, float]:
        return (x + 1.6) * 150, (2.2 - y) * 130

    size = 50
    across, down = genesis.linspace(-1.6, 1.6, size), genesis.linspace(2.2, -0.8, size)
    heights = valley(genesis.stack([across.repeat(size), down.repeat_interleave(size)]))
    shade = 255 - 16 * (1.6 * heights.log1p()).clamp(max=8).reshape(size, size, 1)
    field = png(shade.repeat(1, 1, 3))
    marks = [f'<image width="480" height="390" preserveAspectRatio="none" href="{field}"/>']
    for i, (name, colour, path) in enumerate(paths):
        spots = [place(*p.tolist()) for p in path]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in spots)
        marks.append(
            f'<g fill="{colour}"><polyline points="{line}" fill="none" stroke="{colour}"/>{dots}'
            f'<text x="16" y="{26 + 18 * i}">{name}: {len(path) - 1} steps</text></g>'
        )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 390" width="480" height="390" '
        'font-family="system-ui, sans-serif" font-size="13">',
        *marks,
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="tape.svg")
    args = parser.parse_args()

    start = genesis.tensor([-1.2, 1.0])
    slow = descend(start, 20 if args.smoke else 200, rate=0.01)
    fast = newton(start, 7)
    for name, path in (("gradient descent", slow), ("Newton", fast)):
        end, height = path[-1], valley(path[-1])
        print(f"{name:17}{len(path) - 1:4d} steps to ({end[0]:.3f}, {end[1]:.3f}), {height:.2e}")
    args.picture.write_text(
        draw([("gradient descent", "#2f6da3", slow), ("Newton", "#b4443c", fast)])
    )


if __name__ == "__main__":
    main()
