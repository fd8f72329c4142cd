"""Runs a graph node by node."""

from __future__ import annotations

from typing import Any

from genesis.fx.graph import Graph, _attribute
from genesis.fx.graph_module import GraphModule
from genesis.fx.node import Node, map_arg
from genesis.fx.proxy import GraphAppendingTracer, Proxy
from genesis.nn.modules.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module; a subclass changes what a kind of node does.

    >>> traced = genesis.fx.symbolic_trace(genesis.nn.Sequential(genesis.nn.ReLU()))
    >>> genesis.fx.Interpreter(traced).run(genesis.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.graph: Graph = graph if graph is not None else module.graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """What the program returns for these inputs."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        last: dict[Node, Node] = {}  # who uses a value last
        if self.garbage_collect_values:
            for node in self.graph.nodes:
                for used in node.all_input_nodes:
                    last[used] = node
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            for used in node.all_input_nodes:
                if last.get(used) is node:
                    self.env.pop(used, None)
        return None

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values in place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """``args`` with values in place of nodes."""
        return map_arg(args, lambda node: self.env[node])

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module."""
        return _attribute(self.module, target)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next input."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Interpreter.run: there is no input for {target!r}") from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a method."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What the program returns."""
        return args[0]


class Transformer(Interpreter):
    """Makes a new graph by running one with proxies; a subclass changes nodes on the way."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = GraphAppendingTracer(self.new_graph)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = self.run()
        if result is not None:
            self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph)
