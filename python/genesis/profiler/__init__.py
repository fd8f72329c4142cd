"""Where the time goes: operations, their gradients and modules, with times, shapes and memory.

>>> from genesis.profiler import profile, record_function
>>> x = genesis.ones(64, 64, requires_grad=True)
>>> with profile() as p, record_function("square"):
...     (x @ x).sum().backward()
>>> [e.name for e in p.events()]
['square', 'matmul', 'sum', 'backward', 'SumBackward', 'MatmulBackward', 'AccumulateGrad']
>>> p.export_chrome_trace("/dev/null")
"""

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
    "profile",
    "record_function",
    "schedule",
]
