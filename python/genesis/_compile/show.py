"""Plans as text and as pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from genesis import _C

if TYPE_CHECKING:
    from genesis._compile.compiled import Break, CompiledFunction, Entry

_WIDTH, _LEFT, _ROW, _BARS = 900.0, 10.0, 18.0, 260.0


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
        """A picture of one plan: its steps, and the arena over time."""
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
            f"style='font-family: sans-serif'><h1>{name}</h1>{pictures}<pre>{escape(str(self))}"
            "</pre></body></html>"
        )

    _repr_html_ = html


def _svg(entry: Entry) -> str:
    from genesis.debug._svg import _FONT, _GREY, _INK, COLOURS

    def text(x: float, y: float, words: str, colour: str = _INK) -> str:
        return f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}'>{escape(words)}</text>"

    parts: list[str] = []
    if entry.plan is None:
        parts.append(text(_LEFT, 20, f"graph break: {entry.reason}", COLOURS["loss"][1]))
        height = 30.0
    else:
        steps, blocks = _C._plan_steps(entry.plan), _C._plan_blocks(entry.plan)
        size = max(1, _C._plan_memory(entry.plan))
        wide = (_WIDTH - 2 * _LEFT) / max(1, len(steps))
        parts.append(text(_LEFT, 14, f"arena, {size} bytes, over {len(steps)} steps", _GREY))
        for number, count, home, offset, first, last in blocks:
            if home != "arena":
                continue
            fill, border = COLOURS["group" if count > size / 8 else "view"]
            parts.append(
                f"<rect x='{_LEFT + first * wide:.1f}' y='{20 + _BARS * offset / size:.1f}' "
                f"width='{(last - first + 1) * wide:.1f}' "
                f"height='{max(0.5, _BARS * count / size):.1f}' fill='{fill}' stroke='{border}' "
                f"stroke-width='0.5'><title>b{number}: {count} bytes, steps {first} to {last}"
                "</title></rect>"
            )
        top = 20 + _BARS + 24
        for i, (kind, names, elements) in enumerate(steps):
            fill, border = COLOURS[{"group": "group", "kernel": "arithmetic"}.get(kind, "custom")]
            y = top + i * _ROW
            parts.append(
                f"<rect x='{_LEFT}' y='{y - 13:.1f}' width='{_WIDTH - 2 * _LEFT}' height='16' "
                f"rx='3' fill='{fill}' stroke='{border}' stroke-width='0.5'/>"
            )
            words = f"{i}  {names}" if kind != "group" else f"{i}  [{elements} elements] {names}"
            parts.append(text(_LEFT + 6, y, words if len(words) < 130 else words[:128] + "\u2026"))
        height = top + len(steps) * _ROW
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH:.0f} {height:.0f}' "
        f"width='{_WIDTH:.0f}' font-family=\"{_FONT}\" font-size='11'>{''.join(parts)}</svg>"
    )


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
