"""Linear regression by hand: a forward pass, backward(), and an update, with nothing in between.

python examples/linear_regression.py [--smoke] [--picture linear_regression.svg]
"""

import argparse
import pathlib

import genesis
from genesis import Tensor


def draw(x: Tensor, y: Tensor, lines: list[tuple[float, float]]) -> str:
    """The points, and the line after each step, from pale to dark."""

    def place(a: float, b: float) -> tuple[float, float]:
        return 60 + 480 * (a + 2) / 4, 300 - 260 * (b + 5) / 14

    marks = [
        f'<circle cx="{u:.1f}" cy="{v:.1f}" r="3" fill="#2f6da3" fill-opacity="0.6"/>'
        for u, v in (place(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    ]
    for i, (weight, bias) in enumerate(lines):
        (x1, y1), (x2, y2) = place(-2, bias - 2 * weight), place(2, bias + 2 * weight)
        shade = 0.15 + 0.85 * (i + 1) / len(lines)
        marks.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#b4443c" '
            f'stroke-width="2" stroke-opacity="{shade:.2f}"/>'
        )
    weight, bias = lines[-1]
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 340" width="600" height="340" '
        'font-family="system-ui, sans-serif" font-size="14">',
        '<rect width="600" height="340" fill="#fff"/>',
        *marks,
        f'<text x="70" y="40" fill="#444">y = {weight:.2f} x + {bias:.2f}</text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="linear_regression.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    x = genesis.rand(100) * 4 - 2
    y = 3 * x + 2 + 0.5 * genesis.randn(100)

    weight = genesis.zeros((), requires_grad=True)
    bias = genesis.zeros((), requires_grad=True)
    lines = []
    for step in range(10 if args.smoke else 40):
        lines.append((weight.item(), bias.item()))
        loss = ((weight * x + bias - y) ** 2).mean()
        loss.backward()  # now weight.grad is d loss / d weight, and bias.grad likewise
        with genesis.no_grad():  # the update itself is not to be differentiated
            weight -= 0.1 * weight.grad
            bias -= 0.1 * bias.grad
        weight.grad = bias.grad = None  # or the next backward() would add to them
        if step % 5 == 0:
            print(f"step {step:2d}  loss {loss:.4f}  y = {weight:.3f} x + {bias:.3f}")

    # The best line is known in closed form: it solves the normal equations.
    design = genesis.stack([x, genesis.ones_like(x)], dim=1)
    best = genesis.linalg.solve(design.T @ design, design.T @ y)
    print(f"by gradients  y = {weight:.3f} x + {bias:.3f}")
    print(f"closed form   y = {best[0]:.3f} x + {best[1]:.3f}")
    args.picture.write_text(draw(x, y, lines))


if __name__ == "__main__":
    main()
