"""Draws the pictures of docs/images: `PYTHONPATH=python python tools/pictures.py`."""

from __future__ import annotations

import pathlib
import re

import genesis
from genesis import nn
from genesis.report import chart

FOLDER = pathlib.Path(__file__).parents[1] / "docs/images"


class Block(nn.Module):
    """Two linear layers around which the input goes unchanged."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: genesis.Tensor) -> genesis.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    """Blocks, and a linear layer on top."""

    def __init__(self, depth: int, width: int = 32) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.head = nn.Linear(width, 10)

    def forward(self, x: genesis.Tensor) -> genesis.Tensor:
        return self.head(self.blocks(x)).log_softmax(-1).mean()


def speed() -> str:
    """Bars of the training steps in the README."""
    readme = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    table = readme.split("## Speed", 1)[1].split("\n\n| |", 2)[1]
    rows = re.findall(r"^\| (.+?) \| ([\d.]+) \| ([\d.]+) \|", table, re.MULTILINE)
    assert rows, "README.md: no table of training steps"
    groups = {
        name.split(",")[0]: {"Genesis": float(ours), "PyTorch": float(theirs)}
        for name, theirs, ours in rows
    }
    notes = {
        name.split(",")[0]: f"{float(theirs) / float(ours):.1f}x" for name, theirs, ours in rows
    }
    return chart.on_white(chart.bars(groups, "microseconds", notes))


def main() -> None:
    """All pictures."""
    FOLDER.mkdir(exist_ok=True)
    x = genesis.ones(4, 3)
    w = nn.Parameter(genesis.ones(3, 2))
    b = nn.Parameter(genesis.zeros(2))
    loss = ((x @ w + b).tanh() ** 2).mean()
    genesis.debug.graph(loss, names={"w": w, "b": b}).save(FOLDER / "graph-small.svg")
    block = Block(32)
    x = genesis.ones(8, 32, requires_grad=True)
    genesis.debug.graph(block, x).save(FOLDER / "graph-block.svg")
    genesis.debug.graph(Net(5), genesis.ones(8, 32)).save(FOLDER / "graph-folded.svg")
    (FOLDER / "speed.svg").write_text(speed() + "\n")


if __name__ == "__main__":
    main()
