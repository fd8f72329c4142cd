"""Pictures in SVG: matrices, points on coloured fields, small images."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from typing import Any

from genesis import Tensor
from genesis.report.chart import HEIGHT, WIDTH, Axes, frame, key

__all__ = ["confusion", "field", "images", "scatter", "sheet"]


def confusion(counts: Sequence[Sequence[int]], names: Sequence[str]) -> str:
    """How often each kind (row) was taken for each (column).

    >>> "<title>a taken for b: 2</title>" in confusion([[5, 2], [0, 7]], ["a", "b"])
    True
    """
    n = len(names)
    size, edge = 38.0, 30.0
    parts = []
    for i, row in enumerate(counts):
        total = max(1, sum(row))
        middle = edge + size * (i + 0.5) + 4
        parts.append(
            f'<text x="{edge - 10}" y="{middle:.1f}" text-anchor="end">{escape(names[i])}</text>'
        )
        parts.append(
            f'<text x="{edge + size * (i + 0.5):.1f}" y="{edge - 10}" text-anchor="middle">'
            f"{escape(names[i])}</text>"
        )
        for j, count in enumerate(row):
            x, y = edge + size * j, edge + size * i
            strength = (0.15 + 0.85 * count / total) if count else 0.04
            ink = ' class="on"' if strength > 0.6 else ' class="ink"'
            number = (
                f'<text{ink} x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}" '
                f'text-anchor="middle">{count}</text>'
            )
            parts.append(
                f"<g><title>{escape(names[i])} taken for {escape(names[j])}: {count}</title>"
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{size - 2}" height="{size - 2}" rx="3" '
                f'fill="var(--{"good" if i == j else "bad"})" fill-opacity="{strength:.2f}"/>'
                f"{number if count else ''}</g>"
            )
    side = edge + size * n
    legend, end = key([("var(--good)", "right"), ("var(--bad)", "wrong")], edge, side + 6, side)
    return frame([*parts, *legend], "confusion matrix", side, end)


def png(rows: Sequence[Sequence[tuple[int, int, int]]]) -> str:
    """Pixels as the address of an image that holds itself.

    >>> png([[(255, 0, 0)]])[:22]
    'data:image/png;base64,'
    """

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    height, width = len(rows), len(rows[0])
    raw = b"".join(b"\0" + bytes(c for pixel in row for c in pixel) for row in rows)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


_BETWEEN = [(37, 99, 235), (147, 180, 247), (246, 246, 246), (246, 178, 148), (224, 89, 42)]


def colour(share: float) -> tuple[int, int, int]:
    """Blue at 0, white at a half, orange at 1.

    >>> colour(0.0), colour(0.5), colour(2.0)
    ((37, 99, 235), (246, 246, 246), (224, 89, 42))
    """
    place = max(0.0, min(1.0, share)) * (len(_BETWEEN) - 1)
    i = min(int(place), len(_BETWEEN) - 2)
    low, high, part = _BETWEEN[i], _BETWEEN[i + 1], place - i
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return red, green, blue


def pale(share: float) -> tuple[int, int, int]:
    """The same, half way to white: a ground for points.

    >>> pale(0.5)
    (250, 250, 250)
    """
    red, green, blue = (127 + (c + 1) // 2 for c in colour(share))
    return red, green, blue


def _image(address: str, x: float, y: float, width: float, height: float, smooth: bool) -> str:
    how = "auto" if smooth else "pixelated"
    return (
        f'<image href="{address}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" preserveAspectRatio="none" style="image-rendering:{how}"/>'
    )


def field(
    shares: Sequence[Sequence[float]], box: tuple[float, float, float, float],
    x_label: str = "", y_label: str = "", scale: tuple[str, str] | None = None,
) -> str:  # fmt: skip
    """Values from 0 to 1 over a rectangle (left, right, bottom, top), the first row on top.

    ``scale`` says what 0 and 1 stand for.

    >>> "data:image/png" in field([[0.0, 1.0]], (0, 1, 0, 1), scale=("low", "high"))
    True
    """
    return scatter([], box, background=shares, x_label=x_label, y_label=y_label, scale=scale)


def scale_strip(ends: tuple[str, str], right: float, y: float, paint: Any) -> list[str]:
    """A strip of the colours from 0 to 1, between labels of the ends."""
    wide = 90.0
    strip = _image(png([[paint(k / 40) for k in range(41)]]), right - wide, y, wide, 10, True)
    low, high = ends
    after = 7.5 * len(high) + 6
    return [
        f'<g transform="translate({-after:.0f} 0)">{strip}'
        f'<text x="{right - wide - 6:.0f}" y="{y + 10:.0f}" text-anchor="end">{escape(low)}</text>'
        f'<text x="{right + 6:.0f}" y="{y + 10:.0f}">{escape(high)}</text></g>'
    ]


def scatter(
    groups: Sequence[Sequence[Sequence[float]]], box: tuple[float, float, float, float], *,
    background: Sequence[Sequence[float]] | None = None, x_label: str = "", y_label: str = "",
    names: Sequence[str] = (), radius: float = 2.6, scale: tuple[str, str] | None = None,
) -> str:  # fmt: skip
    """Points of several groups in a rectangle (left, right, bottom, top), on colours or not.

    ``names`` of the groups and what the ends of the colours stand for (``scale``) make a legend.

    >>> scatter([[(0.5, 0.5)]], (0, 1, 0, 1)).count("<circle")
    1
    """
    left, right, bottom, top = box
    axes = Axes((left, right), (bottom, top), x_label, y_label)
    parts = axes.parts if background is None else []
    if background is not None:
        address = png([[pale(v) if groups else colour(v) for v in row] for row in background])
        parts.append(
            _image(address, axes.x(left), axes.y(top), axes.x(right) - axes.x(left),
                   axes.y(bottom) - axes.y(top), smooth=True)
        )  # fmt: skip
        parts += [part for part in axes.parts if "<line" not in part]
        parts += [part[part.index("<text") :] for part in axes.parts if "<line" in part]
    kinds: list[tuple[str, str]] = []
    for i, points in enumerate(groups):
        fill = f"var(--s{i})" if background is None else f"rgb{_BETWEEN[-(i % 2)]}"
        if len(groups) > 4:
            fill = f"hsl({360 * i // len(groups)},65%,55%)"
        name = f"<title>{escape(names[i])}</title>" if names else ""
        parts.append(f'<g fill="{fill}" stroke="#fff" stroke-width="0.5">{name}')
        parts += [
            f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="{radius}"/>' for x, y in points
        ]
        parts.append("</g>")
        kinds.append((fill, names[i] if names else ""))
    height = float(HEIGHT)
    if scale is not None:
        parts += scale_strip(scale, axes.x(right), 10, pale if groups else colour)
    if names:
        legend, height = key(kinds, axes.x(left), height + 4)
        parts += legend
    return frame(parts, "points", WIDTH, height)


def grey(image: Tensor) -> list[list[tuple[int, int, int]]]:
    """Ink on paper: 0 is white, 1 is black.

    >>> import genesis
    >>> grey(genesis.tensor([[0.0, 1.0]]))
    [[(255, 255, 255), (20, 20, 20)]]
    """
    levels = (255 - 235 * image.detach().float().clamp(0, 1)).round().int().tolist()
    return [[(v, v, v) for v in row] for row in levels]


def images(pictures: Sequence[tuple[Tensor, str, object]], columns: int = 6) -> str:
    """Small images in rows, each with a word below; those whose third item is false are marked.

    >>> import genesis
    >>> images([(genesis.zeros(2, 2), "nothing", True)]).count("<image")
    1
    """
    size, row = 64.0, 104.0
    parts = []
    for i, (image, text, good) in enumerate(pictures):
        x, y = (i % columns) * 80.0 + 8, (i // columns) * row + 6
        parts.append(_image(png(grey(image)), x, y, size, size, smooth=False))
        if not good:
            parts.append(
                f'<rect x="{x - 1.5}" y="{y - 1.5}" width="{size + 3}" height="{size + 3}" rx="3" '
                'fill="none" stroke="var(--bad)" stroke-width="3"/>'
            )
        parts.append(
            f'<text x="{x + size / 2:.0f}" y="{y + size + 14:.0f}" text-anchor="middle" '
            f'font-size="11">{escape(text)}</text>'
        )
    rows = -(-len(pictures) // columns)
    return frame(parts, "images", columns * 80.0, rows * row)


def sheet(pictures: Sequence[Sequence[Tensor]], gap: float = 0.0) -> str:
    """Images in rows, as one picture, with ``gap`` between the rows.

    >>> import genesis
    >>> sheet([[genesis.zeros(2, 2)] * 3]).count("<image")
    1
    """
    blocks: list[list[list[tuple[int, int, int]]]] = []
    for line in pictures:
        parts = [grey(p) for p in line]
        rows = [[pixel for part in parts for pixel in part[k]] for k in range(len(parts[0]))]
        if gap or not blocks:
            blocks.append(rows)
        else:
            blocks[-1] += rows
    drawn, y = [], 0.0
    for rows in blocks:
        height = WIDTH * len(rows) / len(rows[0])
        drawn.append(_image(png(rows), 0, y, WIDTH, height, smooth=False))
        y += height + gap
    return frame(drawn, "images", WIDTH, y - gap)
