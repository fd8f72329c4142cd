"""Inspecting the recorded graph, and the structure of models.

>>> x = genesis.ones(2, 3, requires_grad=True)
>>> loss = (x * 2).sum()
>>> genesis.debug.print_tape()  # doctest: +SKIP
>>> print(genesis.debug.graph(loss, names={"x": x}))  # doctest: +SKIP
"""

from genesis._named_errors import name_errors
from genesis.debug._flow import GradientFlow, gradient_flow
from genesis.debug._graph import Graph, graph
from genesis.debug._model import Vertex
from genesis.debug._steps import Step, Steps, steps
from genesis.debug._summary import Row, Summary, summary
from genesis.debug._tape import Entry, Tape, get_tape, print_tape
from genesis.debug._trace import trace
from genesis.debug._workers import get_worker_stats, print_worker_stats

__all__ = [
    "Entry",
    "GradientFlow",
    "Graph",
    "Row",
    "Step",
    "Steps",
    "Summary",
    "Tape",
    "Vertex",
    "get_tape",
    "get_worker_stats",
    "gradient_flow",
    "graph",
    "print_tape",
    "print_worker_stats",
    "steps",
    "summary",
    "trace",
]

name_errors(__all__, globals())
