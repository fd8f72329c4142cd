"""A network learns the solution of the heat equation from the equation alone.

u_t = a u_xx on 0 <= x <= 1, u = 0 at both ends, u(x, 0) = sin(pi x) + sin(3 pi x) / 2. The network
is u(x, t); its derivatives come from autograd, and the loss, being made of them, is differentiated
again: gradients of gradients of gradients.

python examples/pinn.py [--smoke] [--picture pinn.svg]
"""

import argparse
import math
import pathlib

import genesis
from genesis import Tensor, nn, optim
from genesis.autograd import grad

DIFFUSION = 0.05


def start(x: Tensor) -> Tensor:
    return (math.pi * x).sin() + 0.5 * (3 * math.pi * x).sin()


def exact(x: Tensor, t: Tensor) -> Tensor:
    slow, fast = (math.exp(-DIFFUSION * (k * math.pi) ** 2) for k in (1, 3))
    return slow**t * (math.pi * x).sin() + 0.5 * fast**t * (3 * math.pi * x).sin()


class Solution(nn.Module):
    """Meets the conditions at t = 0 and at both ends by its form; the equation is to be learned."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 32), nn.Tanh(),
            nn.Linear(32, 32), nn.Tanh(),
            nn.Linear(32, 1),
        )  # fmt: skip

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        free = self.net(genesis.stack([2 * x - 1, 2 * t - 1], dim=-1)).squeeze(-1)
        return start(x) * (-t).exp() + t * x * (1 - x) * 4 * free


def residual(u: Solution, x: Tensor, t: Tensor) -> Tensor:
    """How far u is from solving the equation at the points (x, t)."""
    x, t = x.detach().requires_grad_(), t.detach().requires_grad_()
    value = u(x, t).sum()  # each value depends on its own point only, so the sum loses nothing
    u_x, u_t = grad(value, (x, t), create_graph=True)
    (u_xx,) = grad(u_x.sum(), x, create_graph=True)
    return u_t - DIFFUSION * u_xx


def draw(u: Solution) -> str:
    """u over x at several times: the network in colour, the exact solution dotted over it."""
    x = genesis.linspace(0, 1, 81)
    parts = []
    colours = ("#b4443c", "#c98b2f", "#3f8f5b", "#2f6da3")
    for i, (time, colour) in enumerate(zip((0.0, 0.1, 0.3, 1.0), colours, strict=True)):
        t = genesis.full((81,), time)
        with genesis.no_grad():
            learned = u(x, t)
        for values, style in (
            (learned, f'stroke="{colour}" stroke-width="4"'),
            (exact(x, t), 'stroke="#222" stroke-width="1.5" stroke-dasharray="2 5"'),
        ):
            pairs = zip(x.tolist(), values.tolist(), strict=True)
            line = " ".join(f"{40 + 520 * a:.1f},{300 - 200 * b:.1f}" for a, b in pairs)
            parts.append(f'<polyline points="{line}" fill="none" {style}/>')
        parts.append(f'<text x="{200 + 60 * i}" y="40" fill="{colour}">t = {time}</text>')
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 340" width="600" height="340" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="600" height="340" fill="#fff"/><path d="M40 300h520" stroke="#bbb"/>',
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="pinn.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    u = Solution()
    steps = 60 if args.smoke else 1500
    optimizer = optim.Adam(u.parameters(), lr=5e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    x, t = (axis.flatten() for axis in genesis.meshgrid(
        genesis.linspace(0, 1, 50), genesis.linspace(0, 1, 50), indexing="ij"))  # fmt: skip
    for step in range(1, steps + 1):
        loss = residual(u, genesis.rand(256), genesis.rand(256)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % max(1, steps // 10) == 0:
            with genesis.no_grad():
                error = (u(x, t) - exact(x, t)).abs().max()
            print(f"step {step:5d}  residual {loss:.6f}  largest error {error:.4f}")
    args.picture.write_text(draw(u))


if __name__ == "__main__":
    main()
