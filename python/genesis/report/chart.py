"""Charts in SVG: curves and bars. Their colours follow the page."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["bars", "curves", "standalone"]

WIDTH, HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 22, 30, 38

STYLE = """
.chart{--s0:#2563eb;--s1:#e0592a;--s2:#0f9d77;--s3:#9146d8;--good:#2563eb;--bad:#d4351c;
--line:#d8dce2;--ink:#1c2430;--soft:#5a6472;--on:#fff;font:13px system-ui,sans-serif}
@media (prefers-color-scheme:dark){.chart{--s0:#6ea8fe;--s1:#ff9668;--s2:#4fd1a5;--s3:#c79bff;
--good:#6ea8fe;--bad:#ff7b6b;--line:#343b46;--ink:#e6eaf0;--soft:#9aa5b4;--on:#0c1118}}
.chart text{fill:var(--soft)}.chart .ink{fill:var(--ink)}.chart .on{fill:var(--on)}
.chart .rule{stroke:var(--line)}
"""


def standalone(svg: str) -> str:
    """A chart as a separate file.

    >>> standalone('<svg class="chart"></svg>')[:27]
    '<svg class="chart"><style>\\n'
    """
    end = svg.index(">") + 1
    return f"{svg[:end]}<style>{STYLE}</style>{svg[end:]}"


def on_white(svg: str) -> str:
    """A chart as a file for a page that shows pictures on white, for any theme.

    >>> "dark" in on_white('<svg class="chart"></svg>')
    False
    """
    light = STYLE[: STYLE.index("@media")] + STYLE[STYLE.index("}}") + 2 :]
    return standalone(svg).replace(STYLE, light, 1)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two others.

    >>> ticks(0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


class Axes:
    """A frame that turns numbers into places.

    >>> axes = Axes((0, 10), (0, 1), "epoch", "loss")
    >>> axes.x(0), axes.y(0)
    (52.0, 262.0)
    """

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], x_label: str, y_label: str,
        log: bool = False, percent: bool = False, whole: bool = False,
    ) -> None:  # fmt: skip
        self.log = log
        self._x, self._y = x, y
        self._low, self._high = (math.log10(v) for v in y) if log else y
        marks = self._log_ticks() if log else ticks(*y)
        self.parts = []
        for value in marks:
            at = self.y(value)
            text = f"{100 * value:g} %" if percent else f"{value:g}"
            self.parts.append(
                f'<line class="rule" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" '
                f'y2="{at:.1f}"/>'
                f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'
            )
        for value in ticks(*x, count=6):
            if whole and value % 1:  # there is no epoch 1.5
                continue
            self.parts.append(
                f'<text x="{self.x(value):.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle">'
                f"{value:g}</text>"
            )
        self.parts.append(
            f'<text x="{(WIDTH + _LEFT - _RIGHT) / 2:.0f}" y="{HEIGHT - 5}" text-anchor="middle">'
            f"{escape(x_label)}</text>"
        )
        if y_label:
            self.parts.append(f'<text x="{_LEFT - 44}" y="14">{escape(y_label)}</text>')

    def _log_ticks(self) -> list[float]:
        steps = (1, 2, 5) if self._high - self._low < 1.8 else (1,)
        low, high = math.floor(self._low), math.ceil(self._high)
        found = [m * 10.0**p for p in range(low, high + 1) for m in steps]
        return [v for v in found if self._low <= math.log10(v) <= self._high]

    def x(self, value: float) -> float:
        low, high = self._x
        return _LEFT + (value - low) / ((high - low) or 1) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        value = math.log10(max(value, 1e-300)) if self.log else value
        share = (value - self._low) / ((self._high - self._low) or 1)
        return HEIGHT - _BOTTOM - max(-0.02, min(1.02, share)) * (HEIGHT - _TOP - _BOTTOM)


def frame(parts: Sequence[str], title: str, width: float = WIDTH, height: float = HEIGHT) -> str:
    """Parts as a picture."""
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _legend(names: Sequence[str], dashed: str | None = None) -> list[str]:
    parts, x = [], float(WIDTH - _RIGHT)
    for i, name in reversed(list(enumerate(names))):
        x -= 7.5 * len(name) + 36
        parts.append(
            f'<path d="M{x:.0f} 10h22" stroke="var(--s{i % 4})" {_pen(name, dashed)}/>'
            f'<text x="{x + 27:.0f}" y="14">{escape(name)}</text>'
        )
    return parts


def key(
    items: Sequence[tuple[str, str]], x: float = _LEFT, y: float = 4.0, width: float = WIDTH
) -> tuple[list[str], float]:
    """What colours mean: (colour, name) pairs in rows from ``y``; also where the last row ends.

    >>> parts, end = key([("red", "wrong"), ("blue", "right")])
    >>> len(parts), end
    (2, 22.0)
    """
    parts, at = [], x
    for colour, name in items:
        room = 7.5 * len(name) + 30
        if at + room > width and at > x:
            at, y = x, y + 18
        parts.append(
            f'<rect x="{at:.0f}" y="{y:.0f}" width="12" height="12" rx="3" fill="{colour}"/>'
            f'<text x="{at + 17:.0f}" y="{y + 10:.0f}">{escape(name)}</text>'
        )
        at += room
    return parts, y + 18


def curves(
    series: Mapping[str, Sequence[float]], x_label: str, y_label: str = "", *,
    x: Sequence[float] | None = None, log: bool = False, percent: bool = False,
    dashed: str | None = None,
) -> str:  # fmt: skip
    """Lines over a common x, by default 1, 2, 3 and so on. Values that are not finite are gaps.

    The series named ``dashed`` is drawn last, with dashes, over wider lines: both are seen where
    they agree.

    >>> curves({"loss": [3.0, 2.0, 1.5]}, "epoch")[:18]
    '<svg class="chart"'
    """
    finite = [v for values in series.values() for v in values if math.isfinite(v)]
    # A logarithm helps where values fall by far; over less, round numbers are easier to read.
    log = log and bool(finite) and min(finite) > 0 and max(finite) > 8 * min(finite)
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if log:
        low, high = low * 0.9, max(high * 1.1, low * 1.5)
    else:
        room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
        low, high = low - room, high + room
        if percent:
            high = min(high, 1.0)
    longest = max(map(len, series.values()), default=0)
    places = list(x) if x is not None else [float(i + 1) for i in range(longest)]
    span = (places[0], places[-1]) if places else (0.0, 1.0)
    axes = Axes(span, (low, high), x_label, y_label, log, percent, whole=x is None)
    parts = axes.parts
    ordered = sorted(enumerate(series.items()), key=lambda item: item[1][0] == dashed)
    for i, (name, values) in ordered:
        path, pen = [], "M"
        for at, value in zip(places, values, strict=False):
            if math.isfinite(value):
                path.append(f"{pen}{axes.x(at):.1f} {axes.y(value):.1f}")
            pen = "L" if math.isfinite(value) else "M"
        if len(path) == 1:  # a dot
            path.append("m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0")
        parts.append(
            f'<path d="{"".join(path)}" fill="none" stroke="var(--s{i % 4})" '
            f'{_pen(name, dashed)} stroke-linejoin="round"/>'
        )
    names = list(series)
    legend = _legend(names, dashed) if len(names) > 1 else []
    return frame([*parts, *legend], ", ".join(names))


def _pen(name: str, dashed: str | None) -> str:
    if dashed is None:
        return 'stroke-width="2" stroke-linecap="round"'
    if name == dashed:
        return 'stroke-width="2" stroke-dasharray="6 5"'
    return 'stroke-width="5" stroke-opacity="0.5" stroke-linecap="round"'


def thinned(values: Sequence[float], count: int = 120) -> tuple[list[float], list[float]]:
    """Means of equal stretches of a long series, and where each ends.

    >>> thinned([1.0, 3.0, 5.0, 7.0], 2)
    ([2.0, 4.0], [2.0, 6.0])
    """
    n = len(values)
    if n <= count:
        return [float(i + 1) for i in range(n)], list(values)
    cuts = [i * n // count for i in range(count + 1)]
    pairs = list(itertools.pairwise(cuts))
    return [float(b) for _, b in pairs], [sum(values[a:b]) / (b - a) for a, b in pairs]


def bars(
    groups: Mapping[str, Mapping[str, float]], unit: str, note: Mapping[str, str] | None = None
) -> str:
    """Bars side by side, on a logarithmic scale: for each group, each name with its value.

    >>> bars({"add": {"genesis": 1.0, "torch": 2.0}}, "us")[:18]
    '<svg class="chart"'
    """
    names = list(dict.fromkeys(n for group in groups.values() for n in group))
    values = [v for group in groups.values() for v in group.values()]
    low, high = math.log10(min(values)) - 0.3, math.log10(max(values))
    left, width, thick = 206.0, 660.0, 11.0
    row = thick * len(names) + 12
    parts, y, end = [], 34.0, 34 + row * len(groups)
    for power in range(math.ceil(low), math.floor(high) + 1):
        x = left + (power - low) / (high - low) * (width - left - 70)
        text = f"{10.0**power:,g}" if power < 6 else f"1e{power}"
        parts.append(
            f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="28" y2="{end:.0f}"/>'
            f'<text x="{x:.1f}" y="{end + 14:.0f}" text-anchor="middle">{text}</text>'
        )
    for title, group in groups.items():
        middle = y + (row - 12) / 2
        parts.append(
            f'<text class="ink" x="{left - 8:.0f}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{escape(title)}</text>"
        )
        longest = left
        for i, name in enumerate(names):
            if name in group:
                long = (math.log10(group[name]) - low) / (high - low) * (width - left - 70)
                longest = max(longest, left + long)
                parts.append(
                    f'<rect x="{left:.0f}" y="{y + i * thick:.1f}" width="{max(long, 1):.1f}" '
                    f'height="{thick - 1.5}" rx="2" fill="var(--s{i % 4})">'
                    f"<title>{escape(name)} {group[name]:.4g} {unit}</title></rect>"
                )
        if note and title in note:
            parts.append(
                f'<text class="ink" x="{longest + 6:.1f}" y="{middle + 4:.1f}">'
                f"{escape(note[title])}</text>"
            )
        y += row
    for i, name in enumerate(names):
        parts.append(
            f'<rect x="{left + 110 * i:.0f}" y="8" width="12" height="12" rx="3" '
            f'fill="var(--s{i % 4})"/><text class="ink" x="{left + 110 * i + 18:.0f}" y="18">'
            f"{escape(name)}</text>"
        )
    parts.append(
        f'<text x="{width - 8:.0f}" y="18" text-anchor="end">{escape(unit)}, '
        "shorter is better</text>"
    )
    return frame(parts, f"bars in {unit}", width, y + 26)
