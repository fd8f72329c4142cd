"""Traces that Perfetto (ui.perfetto.dev) and chrome://tracing open."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

from genesis.profiler._events import Event

_COLOURS = {  # names that chrome://tracing knows; Perfetto chooses by category
    "forward": "thread_state_running",
    "backward": "thread_state_iowait",
    "pass": "rail_animation",
    "region": "rail_response",
    "module": "grey",
}


def _arguments(event: Event) -> dict[str, Any]:
    args: dict[str, Any] = {"memory": event.memory}
    if event.input_shapes:
        args["input shapes"] = str([list(s) for s in event.input_shapes])
        args["input dtypes"] = [str(d) for d in event.input_dtypes]
    if event.output_shapes:
        args["output shapes"] = str([list(s) for s in event.output_shapes])
    if event.flops:
        args["flops"] = event.flops
    if event.module:
        args["module"] = event.module
    if event.file:
        args["line"] = f"{event.file}:{event.line}"
    return args


def trace_of(events: list[Event]) -> dict[str, Any]:
    """The trace as data for JSON: slices for events, arrows from operations to their gradients."""
    pid = os.getpid()
    out: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "genesis"}}
    ]
    for thread in sorted({e.thread for e in events}):
        out.append({
            "ph": "M", "name": "thread_name", "pid": pid, "tid": thread,
            "args": {"name": f"thread {thread}"},
        })  # fmt: skip
    backward = {
        e.sequence.start: e
        for e in events
        if e.kind == "backward" and e.name != "AccumulateGrad"  # made by the first use of a leaf
    }
    for e in events:
        out.append({
            "ph": "X", "name": e.name, "cat": e.kind, "cname": _COLOURS[e.kind], "pid": pid,
            "tid": e.thread, "ts": e.start / 1e3, "dur": e.time / 1e3, "args": _arguments(e),
        })  # fmt: skip
        if e.kind != "forward":
            continue
        for number in e.sequence:
            if number not in backward:
                continue
            end = backward[number]
            flow = {"name": "gradient", "cat": "gradient", "id": number, "pid": pid}
            out.append(flow | {"ph": "s", "tid": e.thread, "ts": e.start / 1e3})
            out.append(flow | {"ph": "f", "bp": "e", "tid": end.thread, "ts": end.start / 1e3})
    for e in sorted(events, key=lambda e: e.end):
        out.append({
            "ph": "C", "name": "memory", "pid": pid, "tid": 0, "ts": e.end / 1e3,
            "args": {"bytes": e.allocated},
        })  # fmt: skip
    return {"traceEvents": out, "displayTimeUnit": "ns"}


def write_trace(events: list[Event], path: str | os.PathLike[str]) -> None:
    """Writes the trace; compressed if the name ends with .gz."""
    text = json.dumps(trace_of(events), separators=(",", ":"))
    if os.fspath(path).endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
