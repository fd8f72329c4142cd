"""A run that is killed and started again ends exactly as one that was not.

Checkpoint keeps the model, the optimizer, the schedule, the place in the data and the random state
in one file. This example trains once without a break, and once broken off in the middle of an epoch
and taken up by a new process's worth of fresh objects; the losses are the same to the last bit.

python examples/checkpoint_resume.py [--smoke] [--picture checkpoint_resume.svg]
"""

import argparse
import pathlib
import tempfile

import genesis
import genesis.nn.functional as F
from genesis import nn, optim
from genesis.data import DataLoader, TensorDataset
from genesis.utils.training import Checkpoint


class Killed(Exception):
    """Stands for a power cut."""


def train(folder: pathlib.Path, epochs: int, kill_at: int | None = None) -> list[float]:
    """Train from the latest checkpoint in `folder`, or from the start if there is none."""
    genesis.manual_seed(0)
    x = genesis.rand(600, 1) * 6 - 3
    data = TensorDataset(x, x.sin() + 0.1 * genesis.randn(600, 1))
    loader = DataLoader(data, batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 1))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(loader))
    checkpoint = Checkpoint(
        folder, keep=2, model=model, optimizer=optimizer, schedule=schedule, loader=loader
    )

    state = checkpoint.restore() or {"step": 0, "epoch": 0, "losses": []}
    step, losses = state["step"], list(state["losses"])
    for epoch in range(state["epoch"], epochs):
        for inputs, target in loader:  # goes on behind the batch of the checkpoint
            loss = F.mse_loss(model(inputs), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            losses.append(loss.item())
            if step % 5 == 0:
                checkpoint.save(step=step, epoch=epoch, losses=losses)
            if step == kill_at:
                raise Killed
    return losses


def draw(losses: list[float], kill_at: int) -> str:
    def line(part: list[float], first: int, colour: str) -> str:
        points = " ".join(
            f"{40 + 540 * (first + i) / len(losses):.1f},{250 - 220 * loss / max(losses):.1f}"
            for i, loss in enumerate(part)
        )
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'

    saved = kill_at // 5 * 5
    x = 40 + 540 * saved / len(losses)
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 280" width="600" height="280" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="600" height="280" fill="#fff"/><path d="M40 250h540" stroke="#bbb"/>',
        line(losses[: saved + 1], 0, "#2f6da3"),
        line(losses[saved:], saved, "#b4443c"),
        f'<path d="M{x:.1f} 20v230" stroke="#888" stroke-dasharray="3 4"/>',
        f'<text x="{x + 8:.1f}" y="34" fill="#b4443c">taken up here by new objects</text>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="checkpoint_resume.svg")
    args = parser.parse_args()

    epochs, kill_at = (3, 17) if args.smoke else (12, 67)
    with tempfile.TemporaryDirectory() as folder:
        unbroken = train(pathlib.Path(folder, "unbroken"), epochs)
        try:
            train(pathlib.Path(folder, "broken"), epochs, kill_at)
        except Killed:
            print(f"killed after step {kill_at} of {len(unbroken)}")
        resumed = train(pathlib.Path(folder, "broken"), epochs)
    print(f"unbroken: last loss {unbroken[-1]!r}")
    print(f"resumed:  last loss {resumed[-1]!r}")
    print("the same to the last bit:", unbroken == resumed)
    args.picture.write_text(draw(resumed, kill_at))


if __name__ == "__main__":
    main()
