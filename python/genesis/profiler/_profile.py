"""The context managers: profile, and regions inside it."""

from __future__ import annotations

import enum
import functools
import html
import os
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from genesis import _C, _scope
from genesis.profiler._averages import Averages, averages
from genesis.profiler._events import Event, events_of
from genesis.profiler._trace import write_trace

if TYPE_CHECKING:
    from typing_extensions import Self


class ProfilerActivity(enum.Enum):
    """What can be observed: the CPU. The others are names for programs of PyTorch.

    >>> ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """The action of a schedule for a step.

    >>> schedule(wait=1, warmup=0, active=1)(0)
    <ProfilerAction.NONE: 0>
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """For ``profile(schedule=...)``: which of the steps, ended by ``p.step()``, are recorded.

    After ``skip_first`` steps, cycles of ``wait`` and ``warmup`` steps that are not recorded and
    ``active`` ones that are; ``repeat`` cycles, or without end if 0.

    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            "schedule: wait, warmup, repeat and skip_first must be at least 0 and active at least "
            f"1, got {wait}, {warmup}, {repeat}, {skip_first} and {active}"
        )
    cycle = wait + warmup + active

    def plan(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * cycle):
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """Records what runs inside ``with``, in every thread: operations, gradients, modules, regions.

    ``record_shapes=False`` leaves out shapes (and with them FLOPs), ``with_modules=False`` modules;
    ``profile_memory`` and ``with_flops`` say whether tables show memory and FLOPs; ``with_stack``
    adds the line of your code that called each operation. With a ``schedule``, call ``step()``
    after each step of training: ``on_trace_ready(p)`` is called when a group of steps is recorded.

    >>> layer = genesis.nn.Linear(8, 4)
    >>> with profile() as p:
    ...     layer(genesis.ones(2, 8)).sum().backward()
    >>> linear = next(a for a in p.key_averages() if a.key == "linear")
    >>> linear.count, linear.flops
    (1, 136)
    """

    def __init__(
        self,
        activities: Iterable[ProfilerActivity] | None = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = True,
        profile_memory: bool = True,
        with_stack: bool = False,
        with_flops: bool = True,
        with_modules: bool = True,
    ) -> None:
        for activity in activities or ():
            if not isinstance(activity, ProfilerActivity):
                raise ValueError(
                    f"profile: activities may hold ProfilerActivity.CPU, got {activity!r}"
                )
            if activity is not ProfilerActivity.CPU:
                warnings.warn(
                    f"profile: there is no {activity.name} device; only the CPU is observed",
                    stacklevel=2,
                )
        self._shapes, self._stack, self._modules = record_shapes, with_stack, with_modules
        self._memory, self._flops = profile_memory, with_flops
        self._schedule, self._ready = schedule, on_trace_ready
        self._running = False
        self._events: list[Event] | None = None
        self.step_num = 0

    def start(self) -> None:
        """Begin; the same as entering ``with``."""
        self.step_num = 0
        if self._action() in _RECORDING:
            self._begin()

    def stop(self) -> None:
        """End; the same as leaving ``with``."""
        if self._running:
            self._finish()
            if self._ready is not None:
                self._ready(self)
        elif self._events is None:
            self._events = []

    def step(self) -> None:
        """Mark the end of a training step: record or pause, according to the schedule.

        >>> ready = []
        >>> plan = schedule(wait=1, warmup=0, active=1, repeat=1)
        >>> with profile(schedule=plan, on_trace_ready=lambda p: ready.append(p.step_num)) as p:
        ...     for _ in range(3):
        ...         _ = genesis.ones(2) + 1
        ...         p.step()
        >>> ready
        [2]
        """
        before = self._action()
        self.step_num += 1
        after = self._action()
        if self._running and (before is ProfilerAction.RECORD_AND_SAVE or after not in _RECORDING):
            self._finish()
            if self._ready is not None:
                self._ready(self)
        if not self._running and after in _RECORDING:
            self._begin()

    def _action(self) -> ProfilerAction:
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def _begin(self) -> None:
        _C._profile_start(self._shapes, self._stack)
        if self._modules:  # after what may raise
            _scope.watch(True)
        self._running = True

    def _finish(self) -> None:
        rows = _C._profile_stop()
        if self._modules:
            _scope.watch(False)
        self._running = False
        self._events = events_of(rows)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def events(self) -> list[Event]:
        """All events in the order in which they began.

        >>> with profile() as p:
        ...     _ = genesis.ones(2) + 1
        >>> p.events()[-1].name
        'add'
        """
        if self._events is None:
            raise RuntimeError("profile: nothing has been recorded yet; leave the with block first")
        return self._events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> Averages:
        """Events of one name together; also by the shapes of inputs, and by line of code.

        >>> with profile() as p:
        ...     _ = genesis.ones(2) + 1, genesis.ones(3) + 1
        >>> [(a.key, a.count) for a in p.key_averages()]
        [('ones', 2), ('add', 2)]
        >>> [a.input_shapes for a in p.key_averages(group_by_input_shape=True) if a.key == "add"]
        [[(2,)], [(3,)]]
        """
        if group_by_stack_n and not self._stack:
            raise ValueError("key_averages: group_by_stack_n needs profile(with_stack=True)")
        groups = averages(self.events(), group_by_input_shape, group_by_stack_n > 0)
        groups.show_memory, groups.show_flops = self._memory, self._flops
        return groups

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace for ui.perfetto.dev or chrome://tracing; compressed if it ends with .gz.

        >>> with profile() as p:
        ...     _ = genesis.ones(2) + 1
        >>> p.export_chrome_trace("/dev/null")
        """
        write_trace(self.events(), path)

    def __str__(self) -> str:
        if self._events is None:
            return repr(self)
        return self.key_averages().table(sort_by="self_cpu_time_total")

    def __repr__(self) -> str:
        if self._running:
            return "<profile: running>"
        if self._events is None:
            return "<profile: not started>"
        return f"<profile: {len(self._events)} events; print() shows a table>"

    def _repr_html_(self) -> str:
        if self._running or self._events is None:
            return f"<div>{html.escape(repr(self))}</div>"
        return self.key_averages()._repr_html_()


class record_function:
    """Gives a part of the program a name in the profile; also decorates functions.

    >>> with profile() as p:
    ...     with record_function("twice"):
    ...         _ = genesis.ones(2) * 2
    >>> p.events()[0].name, [e.name for e in p.events()[0].children]
    ('twice', ['ones', 'mul'])
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function: name must be a str, got {type(name).__name__}")
        self.name = name if args is None else f"{name}({args})"

    def __enter__(self) -> Self:
        _C._begin_region(self.name, False)
        return self

    def __exit__(self, *exception: object) -> None:
        _C._end_region()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return named
