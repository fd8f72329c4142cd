"""A network solves a differential equation, trained on the equation alone."""

from __future__ import annotations

import math

import genesis
from genesis import Tensor, nn, optim
from genesis.autograd import grad
from genesis.cli.task import Rounds, Settings, Task
from genesis.report import Figure, chart, picture
from genesis.training import warmup_cosine

VISCOSITY = 0.02
POINTS, ROUNDS = 512, 100


class Solution(nn.Module):
    """u(x, t) with u(x, 0) = -sin(pi x) and u(-1, t) = u(1, t) = 0 for any weights.

    >>> x = genesis.linspace(-1, 1, 3)
    >>> Solution()(x, genesis.zeros(3)).abs().max().item() < 1e-6
    True
    """

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(),
            nn.Linear(32, 1),
        )  # fmt: skip

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        free: Tensor = self.net(genesis.stack([x, 2 * t - 1], 1)).squeeze(1)
        return -(math.pi * x).sin() + t * (1 - x**2) * free


def exact(x: Tensor, t: Tensor) -> Tensor:
    """The solution by the formula of Cole and Hopf: a quotient of integrals over a bell curve.

    >>> exact(genesis.tensor([0.5]), genesis.tensor([1e-9])).round(decimals=4).item()
    -1.0
    """
    import numpy

    place, weight = (genesis.tensor(a, dtype=genesis.float64) for a in
                     numpy.polynomial.hermite.hermgauss(80))  # fmt: skip
    x, t = x.double().unsqueeze(-1), t.double().unsqueeze(-1)
    y = x - place * (4 * VISCOSITY * t).sqrt()
    share = weight * (-((math.pi * y).cos() + 1) / (2 * math.pi * VISCOSITY)).exp()
    return (-(math.pi * y).sin() * share).sum(-1) / share.sum(-1)


class Burgers(Task):
    summary = (
        "A network solves Burgers' equation u_t + u u_x = 0.02 u_xx, trained on the equation alone."
    )
    epochs = 20
    goal = "test_error"
    precisions = ("float32",)

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.loader = Rounds(ROUNDS)
        self.model = Solution()
        self.optimizer = optim.Adam(self.model.parameters(), lr=5e-3)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(steps))
        x, t = genesis.linspace(-1, 1, 121), genesis.linspace(0, 1, 81)
        self.grid = genesis.meshgrid([x, t], indexing="ij")
        self.exact = exact(*self.grid).float()

    def loss(self, batch: int) -> tuple[Tensor, dict[str, float]]:
        x = (2 * genesis.rand(POINTS) - 1).requires_grad_()
        t = genesis.rand(POINTS).requires_grad_()
        u = self.model(x, t)
        u_x, u_t = grad(u.sum(), [x, t], create_graph=True)
        (u_xx,) = grad(u_x.sum(), [x], create_graph=True)
        residual = u_t + u * u_x - VISCOSITY * u_xx
        return (residual**2).mean(), {}

    def samples(self, batch: int) -> int:
        return POINTS

    @genesis.no_grad()
    def solve(self) -> Tensor:
        x, t = self.grid
        found: Tensor = self.model(x.flatten(), t.flatten())
        return found.reshape(x.shape)

    def evaluate(self) -> dict[str, float]:
        return {"test_error": ((self.solve() - self.exact).norm() / self.exact.norm()).item()}

    def figures(self) -> list[Figure]:
        found = self.solve()
        pictures = [
            Figure(
                title,
                picture.field(((u.flip(0) + 1) / 2).tolist(), (0, 1, -1, 1), "time", "x", scale),
                caption,
            )
            for title, u, scale, caption in (
                ("The solution", found, ("-1", "1"), "u(x, t) as computed by the network."),
                (
                    "Error",
                    10 * (found - self.exact),
                    ("-0.1", "0.1"),
                    "The network's value minus the exact one.",
                ),
            )
        ]
        x = self.grid[0][:, 0].tolist()
        for k in (20, 80):
            lines = {"exact": self.exact[:, k].tolist(), "network": found[:, k].tolist()}
            picture_of = chart.curves(lines, "x", x=x, dashed="network")
            pictures.append(Figure(f"At time {k / 80:g}", picture_of))
        return pictures


TASK = Burgers
