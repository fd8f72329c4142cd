"""A network learns to balance a pole on a cart by policy gradients."""

from __future__ import annotations

import math

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli.task import Rounds, Settings, Task
from genesis.report import Figure, chart
from genesis.training import warmup_cosine

LIMIT = 500  # steps after which an episode ends
ATTEMPTS, ROUNDS = 16, 5


class Carts:
    """Carts with poles. A state is position, velocity, angle, angular velocity.

    >>> carts = Carts(3)
    >>> carts.push(genesis.tensor([0, 1, 1])).tolist()
    [True, True, True]
    """

    GRAVITY, CART, POLE, HALF, FORCE, TICK = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, count: int, generator: genesis.Generator | None = None) -> None:
        self.state = 0.1 * genesis.rand(count, 4, generator=generator) - 0.05

    def push(self, right: Tensor) -> Tensor:
        """Push each cart to the right or left; returns which poles are still upright."""
        _, speed, angle, angular = self.state.unbind(1)
        sine, cosine, mass = angle.sin(), angle.cos(), self.CART + self.POLE
        swing = self.POLE * self.HALF
        drive = (self.FORCE * (2.0 * right - 1) + swing * angular**2 * sine) / mass
        angular_acceleration = (self.GRAVITY * sine - cosine * drive) / (
            self.HALF * (4 / 3 - self.POLE * cosine**2 / mass)
        )
        acceleration = drive - swing * angular_acceleration * cosine / mass
        change = genesis.stack([speed, acceleration, angular, angular_acceleration], 1)
        self.state = self.state + self.TICK * change
        return (self.state[:, 0].abs() < 2.4) & (self.state[:, 2].abs() < math.pi / 15)


class Cartpole(Task):
    summary = "A network learns to balance a pole on a cart (policy gradients)."
    epochs = 20
    goal = "test_length"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.loader = Rounds(ROUNDS)
        self.model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.optimizer = optim.Adam(self.model.parameters(), lr=1e-2)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(steps, warmup=1))
        self.played = 0

    @genesis.no_grad()
    def play(self) -> tuple[Tensor, Tensor, Tensor]:
        """A batch of episodes: states, actions, and whether the pole is upright, each by time."""
        carts, stands = Carts(ATTEMPTS), genesis.ones(ATTEMPTS, dtype=genesis.bool)
        states: list[Tensor] = []
        pushes: list[Tensor] = []
        alive: list[Tensor] = []
        while stands.any() and len(states) < LIMIT:
            right = genesis.bernoulli(F.softmax(self.model(carts.state), 1)[:, 1])
            states.append(carts.state)
            pushes.append(right.long())
            alive.append(stands)
            stands = stands & carts.push(right)
        return genesis.stack(states), genesis.stack(pushes), genesis.stack(alive).float()

    def loss(self, batch: int) -> tuple[Tensor, dict[str, float]]:
        states, pushes, alive = self.play()
        # The discounted return of each action.
        returns, later = [], genesis.zeros(ATTEMPTS)
        for stood in reversed(alive):
            later = stood * (1 + 0.99 * later)
            returns.append(later)
        value = genesis.stack(returns[::-1])
        count = alive.sum()
        mean = value.sum() / count
        spread = ((alive * (value - mean) ** 2).sum() / count).sqrt()
        advantage = alive * (value - mean) / (spread + 1e-6)
        scores = F.log_softmax(self.model(states), -1)
        chosen = scores.gather(-1, pushes.unsqueeze(-1)).squeeze(-1)
        entropy = -(scores.exp() * scores).sum(-1)
        self.played = int(count.item())
        return -(advantage * chosen + 0.01 * alive * entropy).sum() / count, {
            "length": count.item() / ATTEMPTS
        }

    def samples(self, batch: int) -> int:
        return self.played

    @genesis.no_grad()
    def perform(self, count: int = 32) -> tuple[Tensor, list[Tensor]]:
        """Episodes with a greedy policy and fixed initial states: their lengths, and all states."""
        carts = Carts(count, genesis.Generator().manual_seed(1))
        stands, length = genesis.ones(count, dtype=genesis.bool), genesis.zeros(count)
        states: list[Tensor] = []
        while stands.any() and len(states) < LIMIT:
            states.append(carts.state)
            length = length + stands
            stands = stands & carts.push(self.model(carts.state).argmax(1))
        return length, states

    def evaluate(self) -> dict[str, float]:
        return {"test_length": self.perform()[0].mean().item()}

    def figures(self) -> list[Figure]:
        length, states = self.perform()
        best = int(length.argmax().item())
        path = genesis.stack(states)[: int(length[best].item()), best]
        ticks = [Carts.TICK * i for i in range(len(path))]
        lines = {"position, m": path[:, 0].tolist(), "angle, rad": path[:, 2].tolist()}
        return [
            Figure(
                "The longest episode",
                chart.curves(lines, "seconds", x=ticks),
                "An episode ends when the pole leans by more than 12 degrees, at 2.4 m, or after "
                f"{LIMIT} steps of 20 ms; this one has {len(path)}.",
            )
        ]


TASK = Cartpole
