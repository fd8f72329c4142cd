"""What was recorded: one event for each operation, backward node, pass, region and module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _flops
from genesis._C import dtype

KINDS = ("forward", "backward", "pass", "region", "module")  # as the native recording numbers them


class Event:
    """Something that ran: when, for how long, on which shapes, and how much memory it took.

    Times are in nanoseconds, ``start`` counted from the beginning of the profile. ``parent`` is the
    event around it in the same thread, and ``self_time`` leaves out what ran inside. ``memory`` is
    what it took and did not give back, in bytes, ``allocated`` all that was in use at its end.

    >>> with genesis.profiler.profile() as p:
    ...     _ = genesis.ones(2, 3).exp()
    >>> event = p.events()[-1]
    >>> event.name, event.kind, event.input_shapes, event.memory >= 24
    ('exp', 'forward', [(2, 3)], True)
    """

    __slots__ = (
        "allocated",
        "children",
        "end",
        "file",
        "input_dtypes",
        "input_shapes",
        "kind",
        "line",
        "memory",
        "module",
        "name",
        "output_dtypes",
        "output_shapes",
        "parent",
        "sequence",
        "start",
        "thread",
    )

    def __init__(self, row: tuple[Any, ...], origin: int) -> None:
        kind, name, start, end, memory, allocated, first, last, inputs, outputs = row[:10]
        self.module: str | None
        self.file: str | None
        self.line: int
        self.thread: int
        self.module, self.file, self.line, self.thread = row[10:]
        self.kind: str = KINDS[kind]
        self.name: str = name if self.kind in ("region", "module") else name.lstrip("_")
        self.start: int = start - origin
        self.end: int = end - origin
        self.memory: int = memory
        self.allocated: int = allocated
        # The nodes that a forward operation recorded, by number; the node itself of a backward one.
        self.sequence = range(first, last + 1)
        self.input_shapes: list[tuple[int, ...]] = [shape for _, shape in inputs]
        self.input_dtypes: list[dtype] = [d for d, _ in inputs]
        self.output_shapes: list[tuple[int, ...]] = [shape for _, shape in outputs]
        self.output_dtypes: list[dtype] = [d for d, _ in outputs]
        self.parent: Event | None = None
        self.children: list[Event] = []

    @property
    def time(self) -> int:
        """From beginning to end, in nanoseconds."""
        return self.end - self.start

    @property
    def self_time(self) -> int:
        """The same without what ran inside."""
        return self.time - sum(child.time for child in self.children)

    @property
    def self_memory(self) -> int:
        """``memory`` without that of what ran inside."""
        return self.memory - sum(child.memory for child in self.children)

    @property
    def flops(self) -> int:
        """Floating point operations of a forward operation, from its shapes (0 if unknown)."""
        if self.kind != "forward":
            return 0
        return _flops.flops(self.name, self.input_shapes, self.output_shapes)

    def __repr__(self) -> str:
        return f"<Event {self.name} ({self.kind}): {self.time / 1e3:.3f} us>"


def events_of(rows: Iterable[tuple[Any, ...]]) -> list[Event]:
    """The rows of the native recording as nested events."""
    events: list[Event] = []
    open_: dict[int, list[Event]] = {}
    origin: int | None = None
    for row in rows:
        origin = row[2] if origin is None else origin
        event = Event(row, origin)
        around = open_.setdefault(event.thread, [])
        while around and around[-1].end <= event.start:
            around.pop()
        if around:
            event.parent = around[-1]
            around[-1].children.append(event)
        around.append(event)
        events.append(event)
    made_in = {number: e.module for e in events if e.kind == "forward" for number in e.sequence}
    for event in events:  # a gradient belongs to the module of its operation
        if event.kind == "backward" and event.name != "AccumulateGrad":
            event.module = made_in.get(event.sequence.start, event.module)
    return events
