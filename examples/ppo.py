"""Proximal policy optimization: an actor and a critic balance a pole on a cart.

The environment is our own: the classic cart and pole, many of them side by side as rows of a
tensor. The critic guesses how long a pole will stand; what turns out better than its guess makes
an action more likely (generalized advantage estimation). Experience is used for several steps,
as long as the policy stays near the one that gathered it: the ratio of the two is clipped.

python examples/ppo.py [--smoke] [--picture ppo.svg]
"""

import argparse
import math
import pathlib

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim

CARTS, STEPS, LIMIT = 32, 128, 500
DISCOUNT, TRACE, CLIP = 0.99, 0.95, 0.2


def start(n: int) -> Tensor:
    """The state of n carts, (n, 4): place, speed, angle, spin."""
    return 0.1 * genesis.rand(n, 4) - 0.05


def push(state: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """20 ms with a force of 10 N to the right or left: the next state, and which poles fell."""
    _, speed, angle, spin = state.unbind(1)
    sine, cosine = angle.sin(), angle.cos()
    force = (10 * (2.0 * right - 1) + 0.05 * spin**2 * sine) / 1.1
    turn = (9.8 * sine - cosine * force) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    haul = force - 0.05 * turn * cosine / 1.1
    after = state + 0.02 * genesis.stack([speed, haul, spin, turn], dim=1)
    return after, (after[:, 0].abs() > 2.4) | (after[:, 2].abs() > math.pi / 15)


class Agent(nn.Module):
    """Two small networks: one scores the actions, one guesses what is to come."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        return F.log_softmax(self.actor(state), dim=-1), self.critic(state).squeeze(-1)


@genesis.no_grad()
def gather(agent: Agent, state: Tensor, age: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
    """STEPS steps of every cart: where they are then, and what was seen, each (STEPS, CARTS)."""
    rows = []
    for _ in range(STEPS):
        log_p, value = agent(state)
        action = genesis.multinomial(log_p.exp(), 1)
        after, fell = push(state, action.squeeze(1))
        age = age + 1
        over = fell | (age >= LIMIT)
        # A pole that stood to the end did not fall: the critic guesses how it would have gone on.
        to_come = agent(after)[1] * ~fell
        rows.append((state, action, log_p.gather(1, action), value, to_come, over, age * over))
        age = age * ~over
        state = genesis.where(over.unsqueeze(1), start(CARTS), after)
    return state, age, [genesis.stack(column) for column in zip(*rows, strict=True)]


def advantages(value: Tensor, to_come: Tensor, over: Tensor) -> Tensor:
    """How much better than guessed it went, the near future counting more."""
    surprise = (1 - DISCOUNT) + DISCOUNT * to_come - value  # to stand for ever is worth 1
    total, made = genesis.zeros(CARTS), []
    for step in reversed(range(STEPS)):
        total = surprise[step] + DISCOUNT * TRACE * ~over[step] * total
        made.append(total)
    return genesis.stack(made[::-1])


def improve(agent: Agent, optimizer: optim.Optimizer, experience: list[Tensor]) -> None:
    """Four passes over what was seen, in batches of 1024 steps."""
    for rows in genesis.stack([genesis.randperm(CARTS * STEPS) for _ in range(4)]).view(-1, 1024):
        state, action, old_log_p, better, target = (x.flatten(0, 1)[rows] for x in experience)
        log_p, value = agent(state)
        ratio = (log_p.gather(1, action) - old_log_p).exp().squeeze(1)
        gain = (better - better.mean()) / (better.std() + 1e-6)
        surrogate = genesis.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
        doubt = -(log_p.exp() * log_p).sum(1).mean()  # keeps it trying things
        loss = F.mse_loss(value, target) - surrogate - 0.005 * doubt
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()


@genesis.no_grad()
def balance(agent: Agent) -> list[list[float]]:
    """The angle of four poles over time, without dice, each until it falls."""
    state, stands = start(4), genesis.ones(4, dtype=genesis.bool)
    angles: list[list[float]] = [[] for _ in range(4)]
    for _ in range(LIMIT):
        for i in stands.nonzero().flatten().tolist():
            angles[i].append(state[i, 2].item())
        state, fell = push(state, agent(state)[0].argmax(1))
        stands = stands & ~fell
    return angles


def draw(lengths: list[float], before: list[list[float]], after: list[list[float]]) -> str:
    """How long poles stood while it learned, and their angles before and after."""

    def line(points: list[tuple[float, float]], colour: str, width: float = 1) -> str:
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="{width}"/>'

    curve = [(30 + 250 * i / len(lengths), 260 - 0.46 * n) for i, n in enumerate(lengths)]
    poles = [
        line([(320 + i / 2, 145 - 500 * angle) for i, angle in enumerate(angles)], colour)
        for attempts, colour in ((before, "#c9a0a0"), (after, "#2f6da3"))
        for angles in attempts
    ]
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 290" width="600" height="290" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#444">',
        '<rect width="600" height="290" fill="#fff"/>',
        '<path d="M30 260h250M320 40.3h250M320 249.7h250" stroke="#bbb"/>',
        line(curve, "#b4443c", 1.5), *poles,
        f'<text x="30" y="22">steps an attempt lasts: {lengths[0]:.0f} to {lengths[-1]:.0f}</text>',
        '<text x="320" y="22">angle: <tspan fill="#c98080">before</tspan>, '
        '<tspan fill="#2f6da3">after</tspan>; it falls at 12 degrees</text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="ppo.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    agent = Agent()
    optimizer = optim.Adam(agent.parameters(), lr=5e-3)
    before = balance(agent)
    state, age = start(CARTS), genesis.zeros(CARTS)
    lasted, lengths = 0.0, []
    updates = 6 if args.smoke else 60
    schedule = optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=updates)
    for update in range(1, updates + 1):
        state, age, seen = gather(agent, state, age)
        states, actions, log_p, value, to_come, over, ended = seen
        better = advantages(value, to_come, over)
        improve(agent, optimizer, [states, actions, log_p, better, better + value])
        schedule.step()
        if over.any():  # else all attempts go on, and the last figure stands
            lasted = (ended.sum() / over.sum()).item()
        lengths.append(lasted)
        if update % max(1, updates // 10) == 0:
            print(f"update {update:3d}  an attempt lasts {lengths[-1]:5.1f} steps")
    args.picture.write_text(draw(lengths, before, balance(agent)))


if __name__ == "__main__":
    main()
