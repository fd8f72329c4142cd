"""Mixed precision: products in bfloat16, everything delicate in float32, chosen by autocast.

The same network is trained twice from the same weights, once in float32 and once under autocast,
with a GradScaler as it is needed for float16. Weights and optimizer stay in float32 throughout.

python examples/mixed_precision.py [--smoke] [--picture mixed_precision.svg]
"""

import argparse
import pathlib
import time

import genesis
import genesis.nn.functional as F
from genesis import nn, optim
from genesis.amp import GradScaler


def train(steps: int, dtype: genesis.dtype | None) -> list[float]:
    """The losses of a run, under autocast to `dtype`, or without."""
    genesis.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256),
        nn.Linear(256, 256), nn.GELU(), nn.LayerNorm(256),
        nn.Linear(256, 10),
    )  # fmt: skip
    teacher = nn.Linear(64, 10)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    scaler = GradScaler("cpu", enabled=dtype == genesis.float16)
    losses = []
    for step in range(steps):
        x = genesis.randn(128, 64)
        label = teacher(x).argmax(dim=1)
        with genesis.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            scores = model(x)  # of the autocast dtype: the last operation is a product
            loss = F.cross_entropy(scores, label)  # in float32: autocast knows that it is delicate
        if step == 0:
            print(f"  scores {scores.dtype}, loss {loss.dtype}, weights {model[0].weight.dtype}")
        optimizer.zero_grad()
        scaler.scale(loss).backward()  # small gradients of float16 would vanish unscaled
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def smooth(losses: list[float], width: int = 10) -> list[float]:
    return [
        sum(losses[max(0, i - width) : i + 1]) / len(losses[max(0, i - width) : i + 1])
        for i in range(len(losses))
    ]


def draw(runs: dict[str, list[float]]) -> str:
    colours = ("#2f6da3", "#b4443c", "#3f8f5b")
    top = max(max(losses) for losses in runs.values())
    parts = []
    for i, (name, losses) in enumerate(runs.items()):
        line = " ".join(
            f"{40 + 540 * step / (len(losses) - 1):.1f},{280 - 250 * loss / top:.1f}"
            for step, loss in enumerate(smooth(losses))
        )
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colours[i]}" stroke-opacity="0.8"/>'
            f'<text x="440" y="{40 + 18 * i}" fill="{colours[i]}">{name}: '
            f"{smooth(losses)[-1]:.3f}</text>"
        )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 310" width="600" height="310" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="600" height="310" fill="#fff"/><path d="M40 280h540" stroke="#bbb"/>',
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--picture", type=pathlib.Path, default="mixed_precision.svg")
    args = parser.parse_args()

    runs = {}
    for name, dtype in (
        ("float32", None),
        ("bfloat16", genesis.bfloat16),
        ("float16", genesis.float16),
    ):
        print(name)
        start = time.perf_counter()
        runs[name] = train(30 if args.smoke else 400, dtype)
        print(f"  loss {smooth(runs[name])[-1]:.4f} after {time.perf_counter() - start:.1f} s")
    args.picture.write_text(draw(runs))


if __name__ == "__main__":
    main()
