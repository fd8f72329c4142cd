"""Reinforcement learning by REINFORCE: landing softly, with an engine that is on or off.

The environment is our own and small: height and speed over the ground, gravity, an engine, fuel
that costs. Hundreds of flights are flown at once as rows of tensors. The policy gradient is the
gradient of log p(action) weighted by how much better the flight went on than the average one.

python examples/lander.py [--smoke] [--picture lander.svg]
"""

import argparse
import pathlib

import genesis
from genesis import Tensor, nn, optim

STEPS, TICK = 60, 0.1
GRAVITY, THRUST, FUEL = -1.0, 2.2, 0.01


def launch(n: int) -> Tensor:
    """The state of n flights, (n, 2): heights between 3 and 6, speeds near 0."""
    return genesis.stack([3 + 3 * genesis.rand(n), 0.5 * genesis.randn(n)], dim=1)


def fly(state: Tensor, engine: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One tick: the next state, the reward, and who is down now."""
    height, speed = state.unbind(1)
    next_speed = speed + TICK * (GRAVITY + THRUST * engine)
    next_height = height + TICK * (speed + next_speed) / 2
    down = next_height <= 0
    reward = -FUEL * engine - down * next_speed.abs()  # a landing costs the speed of the impact
    return genesis.stack([next_height.clamp(min=0), next_speed], dim=1), reward, down


def episodes(policy: nn.Module, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, actions, rewards, and whether the flight was still on, each (STEPS, n, ...)."""
    state, flying = launch(n), genesis.ones(n, dtype=genesis.bool)
    states, actions, rewards, on = [], [], [], []
    with genesis.no_grad():
        for _ in range(STEPS):
            engine = policy(state).squeeze(1).sigmoid().bernoulli()
            after, reward, down = fly(state, engine)
            states.append(state)
            actions.append(engine)
            rewards.append(reward * flying)
            on.append(flying)
            flying = flying & ~down
            state = genesis.where(flying.unsqueeze(1), after, state)
        rewards[-1] = rewards[-1] - 3.0 * flying  # hanging in the air is no landing
    return tuple(genesis.stack(part) for part in (states, actions, rewards, on))  # type: ignore


def draw(returns: list[float], before: Tensor, after: Tensor) -> str:
    """Mean return while learning, and heights over time before and after."""
    low = min(returns)
    curve = " ".join(
        f"{30 + 250 * i / len(returns):.1f},{30 + 230 * r / low:.1f}" for i, r in enumerate(returns)
    )
    parts = [f'<polyline points="{curve}" fill="none" stroke="#b4443c" stroke-width="1.5"/>']
    for heights, colour in ((before, "#c9a0a0"), (after, "#2f6da3")):
        for flight in heights.T.tolist():
            line = " ".join(f"{320 + 4.2 * i:.1f},{260 - 38 * h:.1f}" for i, h in enumerate(flight))
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 290" width="600" height="290" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#444">',
        '<rect width="600" height="290" fill="#fff"/><path d="M320 260h252" stroke="#bbb"/>',
        *parts,
        f'<text x="30" y="22">mean return {returns[0]:.2f} to {returns[-1]:.2f}</text>',
        '<text x="400" y="22">height: <tspan fill="#c98080">before</tspan>, '
        '<tspan fill="#2f6da3">after</tspan></text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="lander.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    before = episodes(policy, 8)[0][:, :, 0]
    returns = []
    updates = 10 if args.smoke else 300
    for update in range(1, updates + 1):
        states, actions, rewards, on = episodes(policy, 256)
        to_come = rewards.flip(0).cumsum(0).flip(0)  # of each moment: what the rest of it brought
        weight = on.float()
        mean = (to_come * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True).clamp(min=1)
        advantage = (to_come - mean) * weight
        score = policy(states).squeeze(2)
        log_p = -nn.functional.softplus(-score * (2 * actions - 1))  # log p(action)
        entropy = nn.functional.softplus(score) - score * score.sigmoid()  # keep trying things
        loss = -((log_p * advantage + 0.003 * entropy) * weight).sum() / weight.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        returns.append(rewards.sum(0).mean().item())
        if update % max(1, updates // 10) == 0:
            print(f"update {update:4d}  mean return {returns[-1]:.3f}")
    args.picture.write_text(draw(returns, before, episodes(policy, 8)[0][:, :, 0]))


if __name__ == "__main__":
    main()
