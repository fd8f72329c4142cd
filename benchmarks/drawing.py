"""A sweep as a picture: a row for each line, a dot for its ratio, two for its part of the limit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from genesis.report import chart

ROW, HEAD, TOP = 15, 26, 64
LEAST = 0.1  # smaller ratios are drawn at the edge, or what is near 1 would be too close to read
NAMES, RATIOS, LIMITS, GAP = 262, 300, 150, 34  # widths in pixels
STYLE = """<style>.paper{fill:#fff}.one{stroke:var(--soft)}.row{font-size:11px}
.title{font-weight:600}@media (prefers-color-scheme:dark){.paper{fill:#14181f}}</style>"""


class Line(NamedTuple):
    """What was found for one workload. Parts of the limit are 0 where it is not known."""

    group: str
    name: str
    ratio: float
    of_limit: float
    their_of_limit: float


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {at}>{escape(words)}</text>'


def dot(x: float, y: float, colour: str, label: str, hollow: bool = False) -> str:
    look = f'fill="none" stroke="var({colour})"' if hollow else f'fill="var({colour})"'
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" {look}><title>{escape(label)}</title></circle>'
    )


def marks(low: float, high: float) -> list[float]:
    """Numbers for a logarithmic axis of ratios."""
    some = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0]
    if high / low > 40:
        some = [v for v in some if v not in (0.3, 0.7, 1.5, 3.0)]
    return [v for v in some if low <= v <= high]


def sweep(lines: Sequence[Line], title: str) -> str:
    """An SVG of its own, readable on light and on dark pages."""
    low = max(LEAST, min(0.4, *(line.ratio for line in lines))) * 0.92
    high = max(1.6, *(line.ratio for line in lines)) * 1.08
    limits = any(line.of_limit for line in lines)
    width = NAMES + RATIOS + (GAP + LIMITS if limits else 0) + 20

    def place(ratio: float) -> float:
        return NAMES + math.log(max(ratio, low) / low) / math.log(high / low) * RATIOS

    def part(share: float) -> float:
        return NAMES + RATIOS + GAP + min(share, 1.05) * LIMITS

    rows: list[str] = []
    y = float(TOP)
    groups = itertools.groupby(
        sorted(lines, key=lambda line: [other.group for other in lines].index(line.group)),
        key=lambda line: line.group,
    )
    for group, members in groups:
        found = list(members)
        mean = math.exp(sum(math.log(line.ratio) for line in found) / len(found))
        y += HEAD
        rows.append(text(8, y - 7, group, kind="ink title"))
        words = "mean" if len(group) > 18 else "geometric mean"
        rows.append(text(NAMES - 8, y - 7, f"{words} {mean:.2f}", "end", "row"))
        at = place(mean)
        rows.append(
            f'<path class="one" d="M{at:.1f} {y - 4:.1f}v{ROW * len(found)}" stroke-width="1.5" '
            'stroke-dasharray="2 3" fill="none"/>'
        )
        for line in found:
            middle = y + ROW / 2 - 4
            rows.append(text(NAMES - 8, middle + 4, line.name, "end", "ink row"))
            colour = "--good" if line.ratio <= 1 else "--bad"
            rows.append(dot(place(line.ratio), middle, colour, f"{line.name}: {line.ratio:.2f}"))
            if line.of_limit:
                theirs = f"PyTorch {line.their_of_limit:.0%} of the limit"
                rows.append(dot(part(line.their_of_limit), middle, "--soft", theirs, hollow=True))
                ours = f"Genesis {line.of_limit:.0%} of the limit"
                rows.append(dot(part(line.of_limit), middle, "--s2", ours))
            y += ROW
    end = y + 4
    parts = [STYLE, f'<rect class="paper" width="{width}" height="{end + 30:.0f}"/>']
    parts.append(text(8, 20, title, kind="ink title"))
    parts.append(text(NAMES, 44, "Genesis / PyTorch, time; left is better"))
    for value in marks(low, high):
        x, kind = place(value), "one" if value == 1 else "rule"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{end:.0f}"/>')
        parts += [text(x, at, f"{value:g}", "middle", "row") for at in (TOP - 5, end + 14)]
    if limits:
        parts.append(text(part(0), 44, "of the machine's limit"))
        for share in (0.0, 0.5, 1.0):
            x = part(share)
            parts.append(
                f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{end:.0f}"/>'
            )
            parts += [text(x, at, f"{share:.0%}", "middle", "row") for at in (TOP - 5, end + 14)]
        parts.append(dot(part(0) + 4, 27, "--s2", "Genesis"))
        parts.append(text(part(0) + 12, 31, "Genesis", kind="row"))
        parts.append(dot(part(0) + 72, 27, "--soft", "PyTorch", hollow=True))
        parts.append(text(part(0) + 80, 31, "PyTorch", kind="row"))
    return chart.standalone(chart.frame([*parts, *rows], title, width, end + 30)) + "\n"
