"""An operation of one's own, with its own gradient: weights of one bit, trained all the same.

The derivative of sign() is zero almost everywhere, so nothing could be learned through it. A
Function may say otherwise: here the gradient passes as if sign() had not been there, wherever the
weight is between -1 and 1 (the straight-through estimator).

python examples/custom_function.py [--smoke] [--picture custom_function.svg]
"""

import argparse
import math
import pathlib
from typing import Any

import genesis
import genesis.nn.functional as F
from genesis import Function, Tensor, nn, optim
from genesis.autograd import gradcheck


class Sign(Function):
    """1 or -1 forward; backward, the gradient of clamp(x, -1, 1)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return genesis.where(x < 0, -1.0, 1.0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1)


class Softsign(Function):
    """x / (1 + |x|). The rule is made of differentiable operations: it has a gradient too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x / (1 + x.abs())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad / (1 + x.abs()) ** 2


class BinaryLinear(nn.Linear):
    """A linear layer whose weights count only by their sign."""

    def forward(self, input: Tensor) -> Tensor:
        scale = 1 / math.sqrt(self.in_features)
        return F.linear(input, Sign.apply(self.weight) * scale, self.bias)


def draw(x: Tensor, truth: Tensor, learned: Tensor) -> str:
    def line(values: Tensor, style: str) -> str:
        pairs = zip(x.flatten().tolist(), values.flatten().tolist(), strict=True)
        text = " ".join(f"{300 + 85 * a:.1f},{130 - 80 * b:.1f}" for a, b in pairs)
        return f'<polyline points="{text}" fill="none" {style}/>'

    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 260" width="600" height="260" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="600" height="260" fill="#fff"/>',
        line(truth, 'stroke="#bbb" stroke-width="6"'),
        line(learned, 'stroke="#b4443c" stroke-width="2"'),
        '<text x="16" y="24" fill="#b4443c">a network whose hidden weights are 1 or -1</text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="custom_function.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    point = genesis.randn(5, dtype=genesis.float64, requires_grad=True)
    print("the gradient of Softsign is right:", gradcheck(Softsign.apply, (point,)))

    x = genesis.linspace(-3, 3, 200).unsqueeze(1)
    truth = (2 * x).sin() * (-x.abs() / 3).exp()
    net = nn.Sequential(
        nn.Linear(1, 64), nn.Tanh(),
        BinaryLinear(64, 64), nn.Tanh(),
        BinaryLinear(64, 64), nn.Tanh(),
        nn.Linear(64, 1),
    )  # fmt: skip
    optimizer = optim.Adam(net.parameters(), lr=3e-3)
    steps = 60 if args.smoke else 1500
    for step in range(1, steps + 1):
        loss = F.mse_loss(net(x), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step:5d}  loss {loss:.5f}")
    with genesis.no_grad():
        args.picture.write_text(draw(x, truth, net(x)))


if __name__ == "__main__":
    main()
