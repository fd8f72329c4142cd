"""Where the time goes: operations, their gradients and modules, with times, shapes and memory.

>>> from genesis.profiler import profile, record_function
>>> x = genesis.ones(64, 64, requires_grad=True)
>>> with profile() as p, record_function("square"):
...     (x @ x).sum().backward()
>>> [e.name for e in p.events()]
['square', 'matmul', 'sum', 'backward', 'SumBackward', 'MatmulBackward', 'AccumulateGrad']
>>> p.export_chrome_trace("/dev/null")
"""

from collections.abc import Callable

from genesis._missing import explain
from genesis.profiler._averages import Average, Averages
from genesis.profiler._events import Event
from genesis.profiler._profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
)

__all__ = [
    "Average",
    "Averages",
    "Event",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Whether the library Kineto is used: no, the profiler is Genesis's own."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled: the CPU."""
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A function for ``on_trace_ready`` that writes each trace into a folder.

    The files are what ``export_chrome_trace`` writes, named as TensorBoard's plugin expects.
    """

    def handle(finished: profile) -> None:
        import gzip
        import os
        import socket
        import time

        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        file = os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json")
        finished.export_chrome_trace(file)
        if use_gzip:
            with open(file, "rb") as plain, gzip.open(f"{file}.gz", "wb") as packed:
                packed.write(plain.read())
            os.remove(file)

    return handle


explain(globals())
