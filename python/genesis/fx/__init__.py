"""Programs as graphs: ``forward`` of a module as nodes, which can be changed and run again.

``symbolic_trace`` calls ``forward`` with stand-ins for its inputs and records what is done with
them. It follows straight-line programs: a branch or a loop that depends on a value raises.
"""

from genesis._missing import explain
from genesis.fx.graph import CodeGen, Graph
from genesis.fx.graph_module import GraphModule
from genesis.fx.interpreter import Interpreter, Transformer
from genesis.fx.node import Node, has_side_effect, map_arg
from genesis.fx.proxy import Proxy, TraceError
from genesis.fx.tracer import ProxyableClassMeta, Tracer, symbolic_trace, wrap

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "TraceError",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "symbolic_trace",
    "wrap",
]

explain(globals())
