"""Plans as text and as pictures."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from genesis import _C

if TYPE_CHECKING:
    from genesis._compile.compiled import CompiledFunction
    from genesis._compile.entry import Break, Entry

_WIDTH, _LEFT, _ROW = 920.0, 10.0, 20.0
_CALLS = 470.0  # width of the calls; the memory is to the right of them


class Plans:
    """The plans of a compiled function: ``str`` is their text."""

    def __init__(self, function: CompiledFunction) -> None:
        self._function = function

    def __len__(self) -> int:
        return len(self._function.entries)

    def __str__(self) -> str:
        lines = []
        if self._function.eager is not None:
            lines.append(f"runs eagerly: {self._function.eager}")
        for i, entry in enumerate(self._function.entries):
            state = f"graph break: {entry.reason}" if entry.plan is None else "ready"
            lines.append(f"plan {i}: {state}")
            if entry.plan is not None:
                lines.append(_C._plan_text(entry.plan))
        return "\n".join(lines) or "no plan yet"

    __repr__ = __str__

    def svg(self, number: int = 0) -> str:
        """A picture of one plan: its calls, and beside them the memory in use."""
        if not 0 <= number < len(self):
            raise IndexError(f"plan.svg: there are {len(self)} plans, got number {number}")
        return _svg(self._function.entries[number])

    def html(self) -> str:
        """A page with the pictures and the text of all plans."""
        pictures = "".join(
            f"<h2>plan {i}</h2>{_svg(e)}" for i, e in enumerate(self._function.entries)
        )
        name = escape(self._function.name())
        return (
            f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>{name}</title></head><body "
            f"style='font-family: sans-serif'><h1>{name}</h1>{pictures}"
            f"<pre style='white-space: pre-wrap'>{escape(str(self))}</pre></body></html>"
        )

    _repr_html_ = html


def _svg(entry: Entry) -> str:
    from genesis.debug._svg import _FONT

    parts, height = _broken(entry) if entry.plan is None else _drawn(entry)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH:.0f} {height:.0f}' "
        f"width='{_WIDTH:.0f}' font-family=\"{_FONT}\" font-size='11'>{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, words: str, colour: str, style: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}' {style}>{escape(words)}</text>"


def _box(x: float, y: float, wide: float, high: float, colours: tuple[str, str], hint: str) -> str:
    return (
        f"<rect x='{x:.1f}' y='{y:.1f}' width='{wide:.1f}' height='{high:.1f}' rx='3' "
        f"fill='{colours[0]}' stroke='{colours[1]}' stroke-width='0.5'>"
        f"<title>{escape(hint)}</title></rect>"
    )


def _shortened(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "\u2026"


def _size(count: int) -> str:
    for unit, bytes_ in (("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= bytes_:
            return f"{count / bytes_:.3g} {unit}"
    return f"{count} bytes"


def _broken(entry: Entry) -> tuple[list[str], float]:
    """The reason of a graph break, and the line of Python that caused it."""
    from genesis.debug._svg import _GREY, _INK, COLOURS

    assert entry.reason is not None
    parts = [
        _text(
            _LEFT, 18, f"graph break: {entry.reason.reason}; calls run eagerly", COLOURS["loss"][1]
        )
    ]
    if not entry.reason.where:
        return parts, 28.0
    file, _, number = entry.reason.where.rpartition(":")
    line = linecache.getline(file, int(number)).strip()
    parts.append(_text(_LEFT, 38, entry.reason.where, _GREY))
    parts.append(_text(_LEFT + 20, 56, line, _INK, "font-family='monospace'"))
    return parts, 66.0


def _drawn(entry: Entry) -> tuple[list[str], float]:
    """Calls from top to bottom; memory beside the calls from the first to the last use of it."""
    from genesis.debug._svg import _GREY, _INK, COLOURS

    steps, blocks = _C._plan_steps(entry.plan), _C._plan_blocks(entry.plan)
    size = max(1, _C._plan_memory(entry.plan))
    left, top = _LEFT + _CALLS + 20, 40.0
    scale = (_WIDTH - left - _LEFT) / size
    parts = [
        _text(_LEFT, 16, "calls, and the blocks of memory that they write and read", _GREY),
        _text(left, 16, f"memory in use: {_size(size)} in all", _GREY),
    ]
    for i, (kind, names, number, written, read, _) in enumerate(steps):
        y = top + i * _ROW
        if kind == "host":
            names = f"{type(entry.hosts[number][0]).__name__}.step()"
        elif kind == "group":
            names = f"fused, {number} elements: {names}"
        places = f"{written} \u2190 {read}" if written or read else ""
        colours = COLOURS[{"group": "group", "kernel": "arithmetic"}.get(kind, "custom")]
        hint = f"step {i}: {names}; {places}"
        parts.append(_box(_LEFT, y, _CALLS, _ROW - 3, colours, hint))
        room = max(12, 76 - len(_shortened(places, 34)))
        parts.append(_text(_LEFT + 6, y + 12, f"{i}  {_shortened(names, room)}", _INK))
        parts.append(
            _text(_LEFT + _CALLS - 6, y + 12, _shortened(places, 34), _GREY, "text-anchor='end'")
        )
    for number, count, home, offset, first, last in blocks:
        if home != "arena":
            continue
        x, wide = left + offset * scale, max(1.0, count * scale)
        y, high = top + first * _ROW, (last - first + 1) * _ROW - 3
        hint = f"b{number}: {_size(count)}, steps {first} to {last}"
        parts.append(_box(x, y, wide, high, COLOURS["view"], hint))
        label = f"b{number} {_size(count)}"
        if wide > 6.5 * len(label):
            parts.append(_text(x + 4, y + 12, label, _INK))
        elif wide > 24:
            parts.append(_text(x + 4, y + 12, f"b{number}", _INK))
    second = next((i for i, step in enumerate(steps) if step[5]), None)
    if second is not None:
        y = top + second * _ROW - 1.5
        parts.append(
            f"<path d='M{_LEFT} {y:.1f}H{_WIDTH - _LEFT}' stroke='{_INK}' stroke-dasharray='4 3'/>"
        )
        parts.append(_text(_WIDTH - _LEFT, y - 4, "backward", _INK, "text-anchor='end'"))
    return parts, top + len(steps) * _ROW + 6


@dataclass
class Explanation:
    """What `explain` found."""

    breaks: list[Break]
    plan: str

    @property
    def graph_break_count(self) -> int:
        return len(self.breaks)

    def __str__(self) -> str:
        lines = [f"graph break: {b}" for b in self.breaks]
        return "\n".join([*lines, self.plan] if self.plan else lines)


def explain(fn: Callable[..., Any], args: Any, kwargs: Any) -> Explanation:
    """What capturing a call of a function finds."""
    import genesis
    from genesis._compile.compiled import CompiledFunction

    function = getattr(fn, "_compiled", fn)
    if isinstance(function, CompiledFunction):
        compiled = CompiledFunction(
            function.function, fullgraph=False, check=False, options={}, module=function.roots[1]
        )
    else:
        made = genesis.compile(function)
        compiled = getattr(made, "_compiled", made)
    compiled(*args, **kwargs)
    breaks = [e.reason for e in compiled.entries if e.reason is not None]
    if compiled.eager is not None:
        breaks.append(compiled.eager)
    return Explanation(breaks, "" if breaks else str(compiled.plan))
