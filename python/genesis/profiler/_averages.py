"""Events put together by name, and the table of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from genesis.profiler._events import Event


class Average:
    """All events of one name (and shape, or line, if grouped so): how many, how long, how much.

    Times are in microseconds, as PyTorch has them.

    >>> with genesis.profiler.profile() as p:
    ...     for _ in range(3):
    ...         _ = genesis.ones(2) + 1
    >>> add = next(a for a in p.key_averages() if a.key == "add")
    >>> add.count, add.flops
    (3, 6)
    """

    def __init__(self, first: Event, key: str, where: str) -> None:
        self.key = key
        self.kind = first.kind
        self.input_shapes = first.input_shapes
        self.stack = where
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.flops = 0

    @property
    def cpu_time(self) -> float:
        """The mean time of one."""
        return self.cpu_time_total / self.count

    def add(self, event: Event) -> None:
        """Counts one more."""
        self.count += 1
        self.self_cpu_time_total += event.self_time / 1e3
        self.self_cpu_memory_usage += event.self_memory
        self.flops += event.flops
        # Of a function inside itself, the outer call counts alone.
        around = event.parent
        while around is not None:
            if around.name == event.name and around.kind == event.kind:
                return
            around = around.parent
        self.cpu_time_total += event.time / 1e3
        self.cpu_memory_usage += event.memory

    def __repr__(self) -> str:
        return f"<Average {self.key}: {self.count} calls, {self.cpu_time_total:.1f} us>"


def time_text(us: float) -> str:
    """A time with a fitting unit.

    >>> time_text(1234.5)
    '1.234ms'
    """
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def bytes_text(size: int) -> str:
    """A size with a fitting unit.

    >>> bytes_text(1536)
    '1.50 KB'
    """
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(size) >= factor:
            return f"{size / factor:.2f} {unit}"
    return f"{size} B"


def count_text(number: int) -> str:
    """A large count, shortened.

    >>> count_text(2_500_000)
    '2.50 M'
    """
    for unit, factor in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if abs(number) >= factor:
            return f"{number / factor:.2f} {unit}"
    return str(number)


def align(rows: list[list[str]], left: int = 1) -> list[str]:
    """Rows of cells as lines with columns of one width, the first ``left`` ones flush left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


_SORT: dict[str, Callable[[Average], Any]] = {
    "count": lambda a: a.count,
    "cpu_memory_usage": lambda a: a.cpu_memory_usage,
    "cpu_time": lambda a: a.cpu_time,
    "cpu_time_total": lambda a: a.cpu_time_total,
    "flops": lambda a: a.flops,
    "self_cpu_memory_usage": lambda a: a.self_cpu_memory_usage,
    "self_cpu_time_total": lambda a: a.self_cpu_time_total,
}


class Averages(list[Average]):
    """What ``key_averages()`` returns: a list that prints as a table.

    >>> with genesis.profiler.profile() as p:
    ...     _ = genesis.ones(2).exp()
    >>> print(p.key_averages().table(row_limit=1).splitlines()[0].split()[:3])
    ['Name', 'Self', 'CPU']
    """

    show_memory = True
    show_flops = True

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The table as text, largest first by ``sort_by`` (an attribute of ``Average``).

        ``top_level_events_only`` shows regions, modules and passes, and no operations.
        """
        if sort_by is not None and sort_by not in _SORT:
            raise ValueError(
                f"table: sort_by must be one of {', '.join(map(repr, _SORT))} or None, "
                f"got {sort_by!r}"
            )
        chosen = list(self) if sort_by is None else sorted(self, key=_SORT[sort_by], reverse=True)
        if top_level_events_only:
            chosen = [a for a in chosen if a.kind in ("region", "module", "pass")]
        left_out = len(chosen) - row_limit
        chosen = chosen[:row_limit] if row_limit >= 0 else chosen
        lines = align(self._rows(chosen))
        rule = "-" * max(map(len, lines))
        lines = [lines[0], rule, *lines[1:], rule]
        if row_limit >= 0 and left_out > 0:
            lines.append(f"{left_out} more; row_limit=-1 shows all")
        lines.append(f"Self CPU time total: {time_text(sum(a.self_cpu_time_total for a in self))}")
        return "\n".join([header, *lines] if header else lines)

    def _rows(self, chosen: list[Average]) -> list[list[str]]:
        """Titles, and a row of text for each."""
        all_time = sum(a.self_cpu_time_total for a in self) or 1.0
        shapes = any(a.input_shapes for a in chosen)
        stacks = any(a.stack for a in chosen)
        flops = self.show_flops and any(a.flops for a in chosen)
        memory = self.show_memory
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        titles += ["CPU Mem", "Self CPU Mem"] * memory + ["# of Calls"]
        titles += ["FLOPs"] * flops + ["Input Shapes"] * shapes + ["Source"] * stacks
        rows = [titles]
        for a in chosen:
            row = [
                a.key if len(a.key) <= 55 else a.key[:52] + "...",
                f"{100 * a.self_cpu_time_total / all_time:.2f}%",
                time_text(a.self_cpu_time_total),
                f"{100 * a.cpu_time_total / all_time:.2f}%",
                time_text(a.cpu_time_total),
                time_text(a.cpu_time),
            ]
            row += [bytes_text(a.cpu_memory_usage), bytes_text(a.self_cpu_memory_usage)] * memory
            row += [str(a.count)]
            row += [count_text(a.flops) if a.flops else "--"] * flops
            row += [str([list(s) for s in a.input_shapes])] * shapes + [a.stack] * stacks
            rows.append(row)
        return rows

    def total_average(self) -> Average:
        """One line for everything."""
        if not self:
            raise ValueError("total_average: nothing was recorded")
        total = Average.__new__(Average)
        total.__dict__.update(self[0].__dict__, key="Total", input_shapes=[], stack="")
        for name in (
            "count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage",
            "self_cpu_memory_usage", "flops",
        ):  # fmt: skip
            setattr(total, name, sum(getattr(a, name) for a in self))
        return total

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from genesis._notebook import table_html

        largest = sorted(self, key=_SORT["self_cpu_time_total"], reverse=True)[:30]
        total = time_text(sum(a.self_cpu_time_total for a in self))
        return (
            f"{table_html(self._rows(largest), left=1)}<div>{len(largest)} of {len(self)}, "
            f"self CPU time total {total}</div>"
        )


def averages(events: Iterable[Event], by_shape: bool, by_line: bool) -> Averages:
    """Events of one name and kind together, in the order of their first."""
    groups: dict[Any, Average] = {}
    for event in events:
        where = f"{event.file}:{event.line}" if by_line and event.file else ""
        shapes = tuple(event.input_shapes) if by_shape else ()
        key = (event.name, event.kind, shapes, where)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Average(event, event.name, where)
            if not by_shape:
                group.input_shapes = []
        group.add(event)
    return Averages(groups.values())
