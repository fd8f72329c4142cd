"""Gradient norms of the layers of a model over the steps of training."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from genesis._C import Tensor

if TYPE_CHECKING:
    from typing_extensions import Self

    from genesis.nn.modules.module import Module

_COLUMNS = 160  # more steps than this are drawn as means


class GradientFlow:
    """What ``gradient_flow()`` returns: gradient norms by layer, as numbers and as a picture.

    ``norms`` maps the name of each layer to its norms, one for each backward pass; NaN where the
    layer had no gradient. Notebooks draw it; ``print``, ``svg()``, ``save()``. ``remove()``, or the
    end of a ``with`` block, stops recording.
    """

    def __init__(self, model: Module) -> None:
        self._layers: dict[str, list[Tensor]] = {}
        for name, module in model.named_modules():
            own = [p for p in module.parameters(recurse=False) if p.requires_grad]
            if own:
                self._layers[name or type(model).__name__] = [*own]
        if not self._layers:
            raise ValueError(
                f"gradient_flow: {type(model).__name__} has no parameters that require grad"
            )
        self._norms: dict[str, list[float]] = {name: [] for name in self._layers}
        self._now: dict[int, float] = {}  # squared norms of the pass under way, by parameter
        parameters = {id(p): p for own in self._layers.values() for p in own}
        self._handles = [
            p.register_post_accumulate_grad_hook(self._note) for p in parameters.values()
        ]

    def _note(self, parameter: Tensor) -> None:
        if id(parameter) in self._now:  # the next backward pass has begun
            self._finish()
        grad = parameter.grad
        if grad is not None:
            self._now[id(parameter)] = float(grad.detach().float().norm()) ** 2

    def _finish(self) -> None:
        if not self._now:
            return
        for name, own in self._layers.items():
            found = [self._now[id(p)] for p in own if id(p) in self._now]
            self._norms[name].append(math.sqrt(sum(found)) if found else math.nan)
        self._now = {}

    @property
    def norms(self) -> dict[str, list[float]]:
        """The norm of each layer's gradient after each backward pass."""
        self._finish()
        return {name: list(values) for name, values in self._norms.items()}

    def remove(self) -> None:
        """Stop recording; the recorded data is kept."""
        self._finish()
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("layer", "first", "last", "smallest", "largest")]
        for name, values in self.norms.items():
            some = [v for v in values if math.isfinite(v)]
            shown = (values[0], values[-1], min(some), max(some)) if some else (math.nan,) * 4
            rows.append((name, *(f"{v:.3g}" for v in shown)))
        wide = [max(len(row[k]) for row in rows) for k in range(5)]
        return "\n".join(
            row[0].ljust(wide[0])
            + "".join(f"  {cell.rjust(w)}" for cell, w in zip(row[1:], wide[1:], strict=True))
            for row in rows
        )

    def __repr__(self) -> str:
        count = max(map(len, self.norms.values()))
        return f"<GradientFlow of {len(self._layers)} layers over {count} steps>"

    def svg(self) -> str:
        """Layers from top to bottom, steps from left to right; the colour is the norm."""
        from genesis.report import chart

        return chart.standalone(_picture(self.norms))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a picture (.svg) or a page (.html)."""
        ending = os.path.splitext(os.fspath(path))[1]
        if ending not in (".svg", ".html"):
            raise ValueError(f"save: the name must end with .svg or .html, got {path!r}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg() if ending == ".svg" else self._page())

    def _page(self) -> str:
        return (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Gradient flow'
            "</title><style>:root{color-scheme:light dark}body{max-width:900px;margin:24px auto;"
            "padding:0 16px;font:15px system-ui,sans-serif}svg{width:100%;height:auto}"
            f"</style></head><body><h1>Gradient flow</h1>{self.svg()}<pre>{escape(str(self))}</pre>"
            "</body></html>\n"
        )

    def _repr_html_(self) -> str:
        return f'<div style="max-width:900px">{self.svg()}</div>'


def gradient_flow(model: Module) -> GradientFlow:
    """Record the norm of the gradient of each layer at every backward pass, and plot them.

    A layer whose gradients vanish, explode or are missing stands out in the picture.

    >>> from genesis import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    >>> flow = genesis.debug.gradient_flow(model)
    >>> for _ in range(3):
    ...     model.zero_grad()
    ...     model(genesis.ones(2, 4)).sum().backward()
    >>> {name: len(norms) for name, norms in flow.norms.items()}
    {'0': 3, '2': 3}
    >>> flow
    <GradientFlow of 2 layers over 3 steps>
    """
    return GradientFlow(model)


def _picture(norms: dict[str, list[float]]) -> str:
    from genesis.report import chart, picture

    some = [v for values in norms.values() for v in values if math.isfinite(v) and v > 0]
    low, high = (math.log10(min(some)), math.log10(max(some))) if some else (0.0, 1.0)
    span = max(high - low, 1e-9)
    steps = max(map(len, norms.values()))
    row, top = 22.0, 34.0
    left = 16 + 7.5 * max(map(len, norms))
    width = left + 520.0
    cells, bottom = min(max(steps, 1), _COLUMNS), top + row * len(norms)
    parts: list[str] = []

    def share(value: float) -> float:
        return (math.log10(value) - low) / span if value > 0 else 0.0

    for i, (name, values) in enumerate(norms.items()):
        y = top + row * i
        parts.append(
            f'<text class="ink" x="{left - 8:.0f}" y="{y + 15:.0f}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
        for k, value in enumerate(_thinned(values, cells)):
            x0, x1 = (left + 500 * j / cells for j in (k, k + 1))
            fill = f"rgb{picture.colour(share(value))}" if math.isfinite(value) else "none"
            edge = "" if math.isfinite(value) else ' stroke="var(--bad)" stroke-dasharray="2 2"'
            parts.append(
                f'<rect x="{x0:.1f}" y="{y:.0f}" width="{x1 - x0 + 0.2:.1f}" height="{row - 3:.0f}"'
                f' fill="{fill}"{edge}><title>{escape(name)}: {value:.3g}</title></rect>'
            )
    for step in sorted({1, max(1, steps // 2), max(1, steps)}):
        x = left + 500 * (step - 0.5) / max(steps, 1)
        parts.append(f'<text x="{x:.0f}" y="{bottom + 14:.0f}" text-anchor="middle">{step}</text>')
    parts.append(
        f'<text x="{left + 250:.0f}" y="{bottom + 30:.0f}" text-anchor="middle">step</text>'
        f'<text x="{left:.0f}" y="16">norm of the gradient</text>'
    )
    parts += picture.scale_strip(
        (f"{10**low:.1e}", f"{10**high:.1e}"), left + 500, 8, picture.colour
    )
    if any(not math.isfinite(v) for values in norms.values() for v in values):
        legend, bottom_key = chart.key(
            [("var(--bad)", "no gradient, or not finite")], left, bottom + 38
        )
        parts, bottom = [*parts, *legend], bottom_key - 36
    return chart.frame(parts, "gradient norms of layers over steps", width, bottom + 38)


def _thinned(values: Sequence[float], count: int) -> list[float]:
    """``values``, or means of as many equal stretches."""
    n = len(values)
    if n <= count:
        return list(values)
    cuts = [i * n // count for i in range(count + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(cuts)]
