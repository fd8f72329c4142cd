"""Learning to learn (MAML): weights from which one gradient step suffices for a new task.

A task is a sine of unknown height and phase, seen at ten points. The loss is that after a step of
gradient descent; its gradient passes through the step, so it is a gradient of a gradient.

python examples/maml.py [--smoke] [--picture maml.svg]
"""

import argparse
import math
import pathlib

import genesis
from genesis import Tensor, nn, optim
from genesis.autograd import grad
from genesis.func import functional_call

INNER_RATE = 0.02
Weights = dict[str, Tensor]


def task() -> tuple[float, float]:
    """Height and phase of a sine."""
    return (0.5 + 4.5 * genesis.rand(()).item()), math.pi * genesis.rand(()).item()


def points(height: float, phase: float, n: int = 10) -> tuple[Tensor, Tensor]:
    x = genesis.rand(n, 1) * 10 - 5
    return x, height * (x - phase).sin()


def loss_of(net: nn.Module, weights: Weights, x: Tensor, y: Tensor) -> Tensor:
    return (functional_call(net, weights, (x,)) - y).square().mean()


def adapted(net: nn.Module, weights: Weights, x: Tensor, y: Tensor, steps: int = 1) -> Weights:
    """The weights after gradient descent on (x, y), a differentiable function of those before."""
    for _ in range(steps):
        slopes = grad(loss_of(net, weights, x, y), list(weights.values()), create_graph=True)
        pairs = zip(weights.items(), slopes, strict=True)
        weights = {name: w - INNER_RATE * slope for (name, w), slope in pairs}
    return weights


def draw(net: nn.Module, plain: nn.Module) -> str:
    """A new task: where both networks start, and what one step on ten points makes of them."""
    height, phase = 3.0, 0.8
    x, y = points(height, phase)
    axis = genesis.linspace(-5, 5, 101).unsqueeze(1)

    def line(values: Tensor, style: str) -> str:
        pairs = zip(axis.flatten().tolist(), values.detach().flatten().tolist(), strict=True)
        text = " ".join(f"{300 + 52 * a:.1f},{170 - 36 * b:.1f}" for a, b in pairs)
        return f'<polyline points="{text}" fill="none" {style}/>'

    parts = [line(height * (axis - phase).sin(), 'stroke="#bbb" stroke-width="6"')]
    for model, colour in ((net, "#b4443c"), (plain, "#2f6da3")):
        weights = dict(model.named_parameters())
        after = functional_call(model, adapted(model, weights, x, y), (axis,))
        parts.append(line(model(axis), f'stroke="{colour}" stroke-dasharray="3 5"'))
        parts.append(line(after, f'stroke="{colour}" stroke-width="2"'))
    for a, b in zip(x.flatten().tolist(), y.flatten().tolist(), strict=True):
        parts.append(f'<circle cx="{300 + 52 * a:.1f}" cy="{170 - 36 * b:.1f}" r="4" fill="#222"/>')
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 340" width="600" height="340" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="600" height="340" fill="#fff"/>',
        *parts,
        '<text x="16" y="24" fill="#b4443c">MAML: before (dotted) and after one step</text>',
        '<text x="16" y="42" fill="#2f6da3">random weights: the same step</text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="maml.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)

    def network() -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1)
        )

    net, plain = network(), network()
    optimizer = optim.Adam(net.parameters(), lr=2e-3)
    steps = 40 if args.smoke else 2000
    running = 0.0
    for step in range(1, steps + 1):
        weights = dict(net.named_parameters())
        losses = []
        for height, phase in (task() for _ in range(8)):
            after = adapted(net, weights, *points(height, phase))
            losses.append(loss_of(net, after, *points(height, phase)))  # at other points
        loss = genesis.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
        if step % (steps // 10) == 0:
            print(f"step {step:5d}  loss after one inner step {running / (steps // 10):.3f}")
            running = 0.0
    args.picture.write_text(draw(net, plain))


if __name__ == "__main__":
    main()
