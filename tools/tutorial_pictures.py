"""Draws the pictures of the tutorial: `PYTHONPATH=python python tools/tutorial_pictures.py`."""

from __future__ import annotations

import math
import pathlib

import genesis
from genesis import nn
from genesis.report import chart, picture

FOLDER = pathlib.Path(__file__).parents[1] / "docs/images/tutorial"


def broadcasting() -> str:
    """A row that is added to each row of a matrix."""
    parts: list[str] = []

    def grid(left: float, rows: list[list[str]], pale: bool = False) -> None:
        for i, row in enumerate(rows):
            for j, text in enumerate(row):
                x, y = left + 42 * j, 40 + 42 * i
                faint = ' fill-opacity="0.06" stroke-dasharray="3 3"' if pale and i else ""
                faint = faint or ' fill-opacity="0.18"'
                ink = ' opacity="0.5"' if pale and i else ""
                parts.append(
                    f'<rect x="{x}" y="{y}" width="38" height="38" rx="5" fill="var(--s0)" '
                    f'stroke="var(--s0)"{faint}/><text class="ink" x="{x + 19}" y="{y + 24}" '
                    f'text-anchor="middle"{ink}>{text}</text>'
                )

    grid(10, [["1", "2", "3"], ["4", "5", "6"]])
    grid(180, [["10", "20", "30"], ["10", "20", "30"]], pale=True)
    grid(350, [["11", "22", "33"], ["14", "25", "36"]])
    for x, sign in ((157, "+"), (327, "=")):
        parts.append(f'<text class="ink" x="{x}" y="88" text-anchor="middle">{sign}</text>')
    for x, text in ((73, "a: (2, 3)"), (243, "row: (3,), used for each row"), (413, "(2, 3)")):
        parts.append(f'<text x="{x}" y="24" text-anchor="middle">{text}</text>')
    return chart.on_white(chart.frame(parts, "broadcasting", 490, 135))


def descent() -> str:
    """The loss of a line that is fitted to ten points, step by step."""
    genesis.manual_seed(0)
    inputs = genesis.linspace(-1, 1, 10)
    targets = 3 * inputs + 1 + 0.1 * genesis.randn(10)
    slope = genesis.zeros((), requires_grad=True)
    intercept = genesis.zeros((), requires_grad=True)
    losses = []
    for _ in range(40):
        loss = ((slope * inputs + intercept - targets) ** 2).mean()
        losses.append(loss.item())
        loss.backward()
        with genesis.no_grad():
            slope -= 0.3 * slope.grad
            intercept -= 0.3 * intercept.grad
        slope.grad = intercept.grad = None
    return chart.on_white(chart.curves({"loss": losses}, "step", "loss", log=True))


def moons() -> str:
    """Two moons, and what a network says of each place."""
    genesis.manual_seed(0)
    angle = math.pi * genesis.rand(400)
    kind = genesis.randint(0, 2, (400,))
    side = 1 - 2.0 * kind
    points = genesis.stack([angle.cos() * side + kind, angle.sin() * side + 0.5 * kind], dim=1)
    points = points + 0.1 * genesis.randn(400, 2)
    model = nn.Sequential(
        nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
    )
    optimizer = genesis.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(61):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(points), kind).backward()
        optimizer.step()
    box = (-1.5, 2.5, -1.1, 1.6)
    x, y = genesis.linspace(box[0], box[1], 120), genesis.linspace(box[3], box[2], 80)
    grid = genesis.stack(genesis.meshgrid([x, y], indexing="xy"), -1)
    with genesis.no_grad():
        sure = nn.functional.softmax(model(grid.reshape(-1, 2)), 1)[:, 1].reshape(80, 120)
    groups = [points[kind == k].tolist() for k in (0, 1)]
    drawn = picture.scatter(
        groups, box, background=sure.tolist(), names=["kind 0", "kind 1"], scale=("0", "1")
    )
    return chart.on_white(drawn)


def batches() -> str:
    """One hundred examples, shuffled into batches of 32."""
    genesis.manual_seed(0)
    order = genesis.randperm(100).tolist()
    parts = []
    for row, (title, places) in enumerate((("dataset", range(100)), ("batches", order))):
        parts.append(f'<text class="ink" x="8" y="{37 + 62 * row}">{title}</text>')
        for k, example in enumerate(places):
            gap = 10 * (k // 32) if row else 0
            hue = 360 * example // 100
            parts.append(
                f'<rect x="{76 + 4 * k + gap}" y="{20 + 62 * row}" width="3.4" height="26" '
                f'fill="hsl({hue},65%,55%)"/>'
            )
    for k, size in enumerate((32, 32, 32, 4)):
        x = 76 + 128 * k + 10 * k + 2 * size
        parts.append(f'<text x="{x}" y="124" text-anchor="middle">{size}</text>')
    return chart.on_white(chart.frame(parts, "a dataset in batches", 520, 132))


def graphs() -> dict[str, str]:
    """Of the function on the page about gradients, and of the first model."""
    x = genesis.tensor(3.0, requires_grad=True)
    y = x**2 + 2 * x
    function = genesis.debug.graph(y, names={"x": x}, gradients=True).svg()
    genesis.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    points, classes = genesis.randn(5, 2), genesis.tensor([0, 1, 1, 0, 1])
    loss = nn.functional.cross_entropy(model(points), classes)
    return {"function": function, "model": genesis.debug.graph(loss, names=model).svg()}


def main() -> None:
    """All pictures."""
    FOLDER.mkdir(exist_ok=True)
    drawn = {
        "broadcasting": broadcasting(),
        "descent": descent(),
        "moons": moons(),
        "batches": batches(),
        **graphs(),
    }
    for name, text in drawn.items():
        (FOLDER / f"{name}.svg").write_text(text + "\n")


if __name__ == "__main__":
    main()
