"""A training run for the tests of checkpoints. Usage: train.py DIRECTORY RESULT [STEP TO DIE AT]"""

import os
import signal
import sys

import genesis
from genesis import nn
from genesis.data import DataLoader
from genesis.utils.training import Checkpoint

from tests.data.examples import Noisy


def main(directory: str, result: str, die_at: int, workers: int) -> None:
    genesis.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = genesis.optim.Adam(model.parameters(), lr=0.01)
    loader = DataLoader(Noisy(22), 4, shuffle=True, num_workers=workers)
    checkpoint = Checkpoint(directory, keep=2, model=model, optimizer=optimizer, loader=loader)
    found = checkpoint.restore() or {"epoch": 0, "step": 0, "losses": []}
    step, losses = found["step"], found["losses"]
    for epoch in range(found["epoch"], 3):
        for batch in loader:
            x = batch + 0.1 * genesis.randn(batch.shape)
            loss = ((model(x) - batch[:, :1] / 22) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            step += 1
            if step % 2 == 0:
                checkpoint.save(step, epoch=epoch, losses=losses)
            if step == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
    genesis.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "losses": losses}, result
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
