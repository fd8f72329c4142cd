"""Plans as text and as pictures."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from genesis import _C

if TYPE_CHECKING:
    from genesis._compile.compiled import Break, CompiledFunction


class Plans:
    """The plans of a compiled function."""

    def __init__(self, function: CompiledFunction) -> None:
        self._function = function

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

    def html(self) -> str:
        """The plans as a page."""
        return f"<!DOCTYPE html><meta charset='utf-8'><pre>{html.escape(str(self))}</pre>"


@dataclass
class Explanation:
    """What `explain` found."""

    breaks: list[Break]
    plan: str

    @property
    def graph_break_count(self) -> int:
        return len(self.breaks)

    def __str__(self) -> str:
        return "\n".join(
            [f"graph break: {b}" for b in self.breaks] + ([self.plan] if self.plan else [])
        )


def explain(fn: Callable[..., Any], args: Any, kwargs: Any) -> Explanation:
    """What capturing a call of a function finds."""
    import genesis
    from genesis._compile.compiled import CompiledFunction

    function = getattr(fn, "_compiled", fn)
    function = function.function if isinstance(function, CompiledFunction) else function
    compiled = genesis.compile(function)
    compiled = getattr(compiled, "_compiled", compiled)
    compiled(*args, **kwargs)
    breaks = [e.reason for e in compiled.entries if e.reason is not None]
    if compiled.eager is not None:
        breaks.append(compiled.eager)
    return Explanation(breaks, "" if breaks else str(compiled.plan))
