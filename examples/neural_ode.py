"""A neural ordinary differential equation: a network learns the law behind a motion it was shown.

The network is the velocity dz/dt = f(z); a Runge-Kutta solver turns it into a path, and backward()
goes through the solver, step by step.

python examples/neural_ode.py [--smoke] [--picture neural_ode.svg]
"""

import argparse
import pathlib
from collections.abc import Callable

import genesis
from genesis import Tensor, nn, optim

Field = Callable[[Tensor], Tensor]
STEP = 0.1


def solve(f: Field, z: Tensor, steps: int) -> Tensor:
    """The path from z, by Runge and Kutta's method of order 4: (steps + 1, *z.shape)."""
    path = [z]
    for _ in range(steps):
        k1 = f(z)
        k2 = f(z + STEP / 2 * k1)
        k3 = f(z + STEP / 2 * k2)
        k4 = f(z + STEP * k3)
        z = z + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(z)
    return genesis.stack(path)


def pendulum(z: Tensor) -> Tensor:
    """The true law, of angle and speed: gravity and some friction."""
    angle, speed = z.unbind(-1)
    return genesis.stack([speed, -angle.sin() - 0.15 * speed], dim=-1)


def draw(truth: Tensor, learned: Tensor) -> str:
    def line(path: Tensor) -> str:
        return " ".join(f"{230 + 70 * x:.1f},{200 - 80 * y:.1f}" for x, y in path.tolist())

    dots = "".join(
        f'<circle cx="{230 + 70 * x:.1f}" cy="{200 - 80 * y:.1f}" r="2.5" fill="#2f6da3"/>'
        for x, y in truth.tolist()
    )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 420 420" width="420" height="420" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="420" height="420" fill="#fff"/>',
        f'<polyline points="{line(learned)}" fill="none" stroke="#b4443c" stroke-width="2"/>',
        dots,
        '<text x="16" y="24" fill="#2f6da3">what was shown</text>',
        '<text x="16" y="42" fill="#b4443c">what the network makes of it</text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="neural_ode.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    length, horizon, batch = 200, 20, 32
    truth = solve(pendulum, genesis.tensor([2.5, 0.0]), length)

    net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
    steps = 20 if args.smoke else 800
    optimizer = optim.Adam(net.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    for step in range(1, steps + 1):
        begin = genesis.randint(0, length - horizon, (batch,))
        shown = genesis.stack([truth[begin + k] for k in range(horizon + 1)])
        loss = (solve(net, truth[begin], horizon) - shown).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step:4d}  mean distance over {horizon} steps {loss:.4f}")

    with genesis.no_grad():
        learned = solve(net, truth[0], length)
    print(
        f"over all {length} steps, from the first point only: {(learned - truth).abs().mean():.4f}"
    )
    args.picture.write_text(draw(truth, learned))


if __name__ == "__main__":
    main()
