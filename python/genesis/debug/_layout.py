"""Where boxes and lines go: a layered layout, top to bottom.

1. ``_ranks``: a vertex stands below everything that it needs, leaves just above their first user.
2. Every link that spans several ranks gets a bend on each rank between. Between two ranks of boxes
   lies one of labels, so that a label is a box too and nothing is written over anything.
3. ``_order``: the order on each rank by the barycentre of neighbours, up and down, while crossings
   decrease.
4. ``_place``: x by least squares: each box wants to stand at the mean of its neighbours, and boxes
   of a rank must not touch (pool adjacent violators solves that exactly for one rank). Links of
   leaves count least and bends of a line most, so that the main path and long lines are straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP_X = 26.0
GAP_LABEL = 10.0
GAP_Y = 16.0
_LEAF, _OPERATION, _BEND = 0.02, 2.0, 6.0


@dataclass
class Box:
    """Something with a place: a vertex, a label, or a bend of a line."""

    width: float
    height: float
    bend: bool = False  # belongs to a line
    rank: int = 0
    x: float = 0.0  # the centre
    y: float = 0.0
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    pull: dict[int, float] = field(
        default_factory=dict
    )  # how strongly it is attracted to another's x


@dataclass(frozen=True)
class Line:
    """A link: the boxes it runs through, and which of them carries its label (or None)."""

    path: tuple[int, ...]
    label: int | None


@dataclass
class Layout:
    """Boxes (the first ones are the vertices, in their order), lines, and the total size."""

    boxes: list[Box]
    lines: list[Line]
    width: float
    height: float


def _ranks(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """Ranks of vertices, which come in an order with sources before targets."""
    into: list[list[int]] = [[] for _ in range(count)]
    out: list[list[int]] = [[] for _ in range(count)]
    for a, b in links:
        into[b].append(a)
        out[a].append(b)
    rank = [0] * count
    for v in range(count):
        rank[v] = max((rank[u] + 1 for u in into[v]), default=0)
    for v in reversed(range(count)):  # sources sink to their users
        if not into[v] and out[v]:
            rank[v] = min(rank[u] for u in out[v]) - 1
    lowest = min(rank, default=0)
    return [r - lowest for r in rank]


def _crossings(upper: list[int], lower: list[int], boxes: list[Box]) -> int:
    at = {v: i for i, v in enumerate(lower)}
    ends = [at[w] for v in upper for w in sorted(boxes[v].below, key=at.__getitem__)]
    # Inversions, counted with a Fenwick tree.
    tree = [0] * (len(lower) + 1)
    crossings = 0
    for seen, end in enumerate(ends):
        i, not_right = end + 1, 0
        while i > 0:
            not_right += tree[i]
            i -= i & -i
        crossings += seen - not_right
        i = end + 1
        while i <= len(lower):
            tree[i] += 1
            i += i & -i
    return crossings


def _order(rows: list[list[int]], boxes: list[Box], rounds: int) -> list[list[int]]:
    def total(rows: list[list[int]]) -> int:
        return sum(_crossings(upper, lower, boxes) for upper, lower in pairwise(rows))

    best, fewest = [list(row) for row in rows], total(rows)
    for number in range(rounds):
        if fewest == 0:
            break
        down = number % 2 == 0
        sequence = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for r in sequence:
            at = {v: i for i, v in enumerate(rows[r - 1 if down else r + 1])}
            place = {v: i for i, v in enumerate(rows[r])}

            def centre(
                v: int, at: dict[int, int] = at, place: dict[int, int] = place, down: bool = down
            ) -> float:
                near = boxes[v].above if down else boxes[v].below
                return sum(at[u] for u in near) / len(near) if near else float(place[v])

            rows[r].sort(key=centre)
        crossings = total(rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _separate(wanted: list[float], weights: list[float], gaps: list[float]) -> list[float]:
    """x nearest to ``wanted`` with ``x[i + 1] - x[i] >= gaps[i]``: pool adjacent violators."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, count = want - offset, weight, 1
        while pools and pools[-1][0] > mean:
            m, w, c = pools.pop()
            mean = (m * w + mean * total) / (w + total)
            total, count = total + w, count + c
        pools.append((mean, total, count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [x + offset for x, offset in zip(flat, offsets, strict=True)]


def _place(rows: list[list[int]], boxes: list[Box], rounds: int) -> None:
    def gap(a: int, b: int) -> float:
        bends = boxes[a].bend or boxes[b].bend
        return (boxes[a].width + boxes[b].width) / 2 + (GAP_LABEL if bends else GAP_X)

    gaps = [[gap(a, b) for a, b in pairwise(row)] for row in rows]
    for row, between in zip(rows, gaps, strict=True):
        middle = sum(between) / 2
        x = -middle
        for v, step in zip(row, [*between, 0.0], strict=True):
            boxes[v].x = x
            x += step
    for number in range(rounds):
        down = number % 2 == 0
        last = number >= rounds // 2  # in the end both sides count
        order = range(len(rows)) if down else range(len(rows) - 1, -1, -1)
        for r in order:
            wanted, weights = [], []
            for v in rows[r]:
                box = boxes[v]
                near = box.above + box.below if last else box.above if down else box.below
                near = near or box.above + box.below
                pull = [(boxes[u].x, box.pull[u]) for u in near]
                total = sum(w for _, w in pull)
                wanted.append(sum(x * w for x, w in pull) / total if total else box.x)
                weights.append(max(box.pull.values(), default=1.0))
            for v, x in zip(rows[r], _separate(wanted, weights, gaps[r]), strict=True):
                boxes[v].x = x


def layout(
    sizes: Sequence[tuple[float, float]],
    links: Sequence[tuple[int, int, tuple[float, float] | None]],
    margin: float = 12.0,
) -> Layout:
    """Places vertices of these sizes, sources first, and links with labels of the given sizes."""
    ranks = [2 * r for r in _ranks(len(sizes), [(a, b) for a, b, _ in links])]
    boxes = [Box(w, h, rank=r) for (w, h), r in zip(sizes, ranks, strict=True)]
    lines: list[Line] = []
    fed = {b for _, b, _ in links}
    for a, b, label in links:
        path, labelled = [a], None
        for r in range(ranks[a] + 1, ranks[b]):
            size = (8.0, 0.0)
            if r == ranks[a] + 1 and label is not None:
                size, labelled = label, len(boxes)
            path.append(len(boxes))
            boxes.append(Box(*size, bend=True, rank=r))
        path.append(b)
        for u, v in pairwise(path):
            boxes[u].below.append(v)
            boxes[v].above.append(u)
            bends = boxes[u].bend and boxes[v].bend
            boxes[u].pull[v] = boxes[v].pull[u] = (
                _BEND if bends else _LEAF if a not in fed else _OPERATION
            )
        lines.append(Line(tuple(path), labelled))
    rows: list[list[int]] = [[] for _ in range(max((b.rank for b in boxes), default=0) + 1)]
    for v in _walk(boxes, len(sizes)):
        rows[boxes[v].rank].append(v)
    patience = min(1.0, 3000 / len(boxes)) if boxes else 1.0  # of thousands no picture is readable
    rows = _order(rows, boxes, rounds=max(2, round(24 * patience)))
    _place(rows, boxes, rounds=max(4, round(60 * patience)))
    left = min((b.x - b.width / 2 for b in boxes), default=0.0)
    y = margin
    for row in rows:
        height = max((boxes[v].height for v in row), default=0.0)
        for v in row:
            boxes[v].x += margin - left
            boxes[v].y = y + height / 2
        y += height + GAP_Y
    width = max((b.x + b.width / 2 for b in boxes), default=0.0) + margin
    return Layout(boxes, lines, width, y - GAP_Y + margin)


def _walk(boxes: list[Box], count: int) -> list[int]:
    """All boxes, neighbours near each other: a first order with few crossings."""
    seen = [False] * len(boxes)
    order: list[int] = []
    for root in range(count):
        stack = [root]
        while stack:
            v = stack.pop()
            if seen[v]:
                continue
            seen[v] = True
            order.append(v)
            stack += [u for u in reversed(boxes[v].below + boxes[v].above) if not seen[u]]
    return order
