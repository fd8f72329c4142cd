"""A graph as an SVG picture that stands on white and on dark backgrounds alike.

Boxes are light with dark text; lines and what is written on them have a grey of middle lightness.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from math import prod

from genesis.debug._layout import Box, Layout, Line, layout
from genesis.debug._model import Model, Vertex
from genesis.debug._trace import dtype_name, shape_text
from genesis.profiler._averages import bytes_text, count_text

# Fill and border by kind of vertex.
COLOURS = {
    "leaf": ("#fff8c5", "#d4a72c"),
    "parameter": ("#ffe9c7", "#d98324"),
    "output": ("#d6f5dd", "#2da44e"),
    "product": ("#d8e6ff", "#3b7ddd"),
    "activation": ("#fbd9e7", "#d05288"),
    "reduction": ("#e7dcfb", "#8a5cd6"),
    "norm": ("#d2f1f1", "#2b9c9c"),
    "loss": ("#ffd9d4", "#d1503f"),
    "view": ("#eceff3", "#99a2ad"),
    "arithmetic": ("#f6f8fa", "#8c96a3"),
    "custom": ("#e3f0c8", "#7c9a2b"),
    "group": ("#e6ebff", "#5567c9"),
}
NAMES = {
    "leaf": "input",
    "product": "matrix product",
    "view": "shape and index",
    "norm": "normalisation",
    "custom": "Function",
    "group": "folded",
}
_TITLE, _SMALL = 13.0, 10.5
_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_GREY = "#7b8694"
_INK = "#1f2328"

# Widths of characters in ems, on the safe side: the fonts of _FONT differ a little.
_NARROW = dict.fromkeys("iljI|!.,:;'`() []/\\ft-r", 0.4)
_WIDE = dict.fromkeys("mwMW@%\u2026\u2192\u00d7", 1.0)


def text_width(text: str, size: float) -> float:
    """An upper bound for the width of ``text`` in the requested fonts."""
    return size * sum(
        _NARROW.get(c) or _WIDE.get(c) or (0.78 if c.isupper() else 0.64) for c in text
    )


def root_of(model: Model) -> str:
    """The outermost module if there is but one: its name need not be in every box."""
    roots = {v.module.partition(".")[0] for v in model.vertices.values() if v.module}
    return roots.pop() if len(roots) == 1 else ""


def inside(path: str, root: str) -> str:
    """The path of a module without that of the outermost one."""
    return "" if path == root else path.removeprefix(f"{root}.")


def title(v: Vertex, root: str) -> str:
    """The large line of a box."""
    return inside(v.label, root) if v.kind == "group" else v.label


def details(v: Vertex, root: str) -> list[str]:
    """The small lines of a box."""
    lines = []
    if v.kind in ("leaf", "parameter", "output"):
        lines.append(f"{shape_text(v.shape)} {dtype_name(v.dtype)}")
        return lines
    if v.kind == "group":
        many = ", ".join(v.ops) if len(v.ops) <= 2 else f"{len(v.ops)} ops"
        lines.append(f"{many}, {count_text(v.parameters)} parameters" if v.parameters else many)
    if v.module and not v.label.startswith(v.module) and inside(v.module, root):
        lines.append(inside(v.module, root))
    if v.released:
        lines.append("freed")
    elif v.saved:
        lines.append(f"saved {bytes_text(v.saved_bytes)}")
    return lines


def _tooltip(v: Vertex) -> str:
    words = [f"{v.label}: {shape_text(v.shape)} {dtype_name(v.dtype)}"]
    if v.kind == "group":
        words.append(", ".join(v.ops[:12]) + (", …" if len(v.ops) > 12 else ""))
    if v.kind in ("leaf", "parameter") and v.shape is not None:
        words.append(f"{prod(v.shape)} elements")
    for s in v.saved[:8]:
        words.append(f"saves {shape_text(s.shape)} {dtype_name(s.dtype)}, {bytes_text(s.nbytes)}")
    if v.module:
        words.append(f"in {v.module}")
    if v.place:
        words.append(f"at {v.place}")
    return "\n".join(words)


def _size(v: Vertex, root: str, links: int) -> tuple[float, float]:
    small = details(v, root)
    width = max([text_width(title(v, root), _TITLE), *(text_width(t, _SMALL) for t in small)]) + 22
    return max(width, 54.0, 18.0 * links), 14 + _TITLE * 1.2 + len(small) * _SMALL * 1.3


def _box(v: Vertex, box: Box, root: str) -> str:
    fill, border = COLOURS[v.kind]
    small = details(v, root)
    left, top = box.x - box.width / 2, box.y - box.height / 2
    radius = box.height / 2 if v.kind in ("leaf", "parameter", "output") else 5
    parts = [
        f'<g class="vertex {v.kind}" data-key="{v.key}"><title>{escape(_tooltip(v))}</title>'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{min(radius, 14):.1f}" fill="{fill}" stroke="{border}"'
        + (' stroke-width="1.8"' if v.kind == "group" else "")
        + "/>"
    ]
    y = top + 7 + _TITLE * 0.95
    parts.append(
        f'<text x="{box.x:.1f}" y="{y:.1f}" font-size="{_TITLE:g}" font-weight="600" '
        f'fill="{_INK}">{escape(title(v, root))}</text>'
    )
    for text in small:
        y += _SMALL * 1.3
        parts.append(
            f'<text x="{box.x:.1f}" y="{y:.1f}" font-size="{_SMALL:g}" '
            f'fill="#59636e">{escape(text)}</text>'
        )
    return "".join(parts) + "</g>"


def _curve(line: Line, plan: Layout, start: float, end: float) -> str:
    """From the lower border of the source through the bends to the upper border of the target."""
    boxes = plan.boxes
    first, last = boxes[line.path[0]], boxes[line.path[-1]]
    points = [(start, first.y + first.height / 2)]
    for v in line.path[1:-1]:
        b = boxes[v]
        if b.height:  # straight past a label
            points += [(b.x, b.y - b.height / 2), (b.x, b.y + b.height / 2)]
        else:
            points.append((b.x, b.y))
    points.append((end, last.y - last.height / 2 - 1))
    # x as a cubic of y between points; the slopes make it smooth without swinging out.
    secants = [(x1 - x0) / max(y1 - y0, 1e-6) for (x0, y0), (x1, y1) in pairwise(points)]
    slopes = [0.0]
    for before, after in pairwise(secants):
        same = before * after > 0
        slopes.append(2 * before * after / (before + after) if same else 0.0)
    slopes.append(0.0)
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        # Between two vertical ends a longer control arm gives a rounder curve.
        arm = (y1 - y0) / (2 if slopes[i] == slopes[i + 1] == 0 else 3)
        out, into = x0 + slopes[i] * arm, x1 - slopes[i + 1] * arm
        path.append(f"C{out:.1f},{y0 + arm:.1f} {into:.1f},{y1 - arm:.1f} {x1:.1f},{y1:.1f}")
    return " ".join(path)


def _ports(plan: Layout) -> list[tuple[float, float]]:
    """Where each line leaves its source and enters its target: side by side, in order."""
    boxes = plan.boxes
    ends: list[list[float]] = [[0.0, 0.0] for _ in plan.lines]
    for side in (0, 1):
        at: dict[int, list[int]] = {}
        for i, line in enumerate(plan.lines):
            at.setdefault(line.path[-side], []).append(i)
        for v, here in at.items():
            here.sort(key=lambda i: boxes[plan.lines[i].path[1 if side == 0 else -2]].x)
            room = min(boxes[v].width - 24, 26.0 * (len(here) - 1))
            for k, i in enumerate(here):
                shift = room * (k / (len(here) - 1) - 0.5) if len(here) > 1 else 0.0
                ends[i][side] = boxes[v].x + shift
    return [(a, b) for a, b in ends]


def _legend(model: Model, width: float, top: float) -> tuple[list[str], float, float]:
    """What the colours mean; also its width and height."""
    kinds = [k for k in COLOURS if any(v.kind == k for v in model.vertices.values())]
    parts, x, y, widest = [], 12.0, top, 0.0
    for kind in kinds:
        name = NAMES.get(kind, kind)
        room = 18 + text_width(name, _SMALL) + 10
        if x + room > max(width, 300.0) - 12 and x > 12:
            x, y = 12.0, y + 18
        fill, border = COLOURS[kind]
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="12" height="12" rx="3" fill="{fill}" '
            f'stroke="{border}"/><text x="{x + 18:.1f}" y="{y + 10:.1f}" text-anchor="start" '
            f'font-size="{_SMALL:g}" fill="{_GREY}">{escape(name)}</text>'
        )
        x += room
        widest = max(widest, x)
    return parts, widest + 12, (y + 24 if kinds else top)


def svg(model: Model, name: str) -> str:
    """The picture."""
    keys = list(model.vertices)
    number = {key: i for i, key in enumerate(keys)}
    users: dict[int, int] = {}
    for link in model.links:
        users[link.source] = users.get(link.source, 0) + 1
    labelled: dict[int, int] = {}
    links: list[tuple[int, int, tuple[float, float] | None]] = []
    texts: list[str] = []
    for link in model.links:
        text = shape_text(link.shape)
        if link.gradient is not None:
            text = f"{text}, {link.gradient}"
        labelled[link.source] = labelled.get(link.source, 0) + 1
        # A tensor with many users is labelled once; leaves say their shape themselves.
        leaf = model.vertices[link.source].kind in ("leaf", "parameter")
        show = not leaf and (users[link.source] <= 3 or labelled[link.source] == 1)
        show = show or link.gradient is not None
        # The line runs through the middle of its label's space, the text stands on the right.
        size = (2 * (text_width(text, _SMALL) + 6), _SMALL * 1.25) if show else None
        links.append((number[link.source], number[link.target], size))
        texts.append(text)
    root = root_of(model)
    sources, targets = model.sources(), model.targets()
    sizes = [
        _size(v, root, max(len(sources[key]), len(targets[key])))
        for key, v in model.vertices.items()
    ]
    plan = layout(sizes, links)
    legend, wide, height = _legend(model, plan.width, plan.height + 6)
    width = max(plan.width, wide)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{escape(_FONT)}" '
        f'text-anchor="middle" role="img"><title>{escape(name)}</title>',
        '<defs><marker id="genesis-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0,0.8 L7.4,4 L0,7.2 z" fill="{_GREY}"/>'
        "</marker></defs>",
        f'<g transform="translate({(width - plan.width) / 2:.1f},0)">',
    ]
    for line, (start, end) in zip(plan.lines, _ports(plan), strict=True):
        out.append(
            f'<path class="link" d="{_curve(line, plan, start, end)}" fill="none" '
            f'stroke="{_GREY}" stroke-width="1.2" marker-end="url(#genesis-arrow)"/>'
        )
    for line, text in zip(plan.lines, texts, strict=True):
        if line.label is not None:
            box = plan.boxes[line.label]
            out.append(
                f'<text class="label" x="{box.x + 5:.1f}" y="{box.y + _SMALL * 0.36:.1f}" '
                f'text-anchor="start" font-size="{_SMALL:g}" fill="{_GREY}">{escape(text)}</text>'
            )
    for v, box in zip(model.vertices.values(), plan.boxes, strict=False):
        out.append(_box(v, box, root))
    return "\n".join([*out, "</g>", *legend, "</svg>"])
