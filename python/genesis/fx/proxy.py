"""Stand-ins for values that record the operations on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from genesis.fx.graph import Graph
from genesis.fx.node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """The program does something that depends on values, which a trace does not have."""


class TracerBase:
    """Records operations on proxies in ``self.graph``."""

    graph: Graph
    record_stack_traces = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: Any = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """A new node of the graph, and the stand-in for its value."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """An argument as a node takes it: nodes for proxies, constants for the rest."""
        return map_aggregate(a, self._plain)

    def _plain(self, a: Any) -> Any:
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        return a

    def to_bool(self, obj: Proxy) -> bool:
        """Called for the truth of a proxy; raises."""
        raise TraceError(
            f"symbolic_trace: the program branches on the value of {obj}, which is not known while "
            "it is traced; rewrite the branch, or make the part a leaf module"
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called for iteration over a proxy; raises."""
        raise TraceError(
            f"symbolic_trace: the program iterates over {obj}, whose length is not known while it "
            "is traced; use a fixed number of items"
        )

    def keys(self, obj: Proxy) -> Any:
        """Called for ``**proxy``."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that exists."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


class Proxy:
    """A stand-in for a value of a traced program."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer or GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        import dis
        import sys

        # `a, b = proxy` determines how many items there are.
        frame = sys._getframe(1)
        code = list(dis.get_instructions(frame.f_code))
        at = next(i for i, step in enumerate(code) if step.offset == frame.f_lasti)
        if code[at].opname == "UNPACK_SEQUENCE":
            return (self[i] for i in range(code[at].argval))
        return self.tracer.iter(self)

    def __getitem__(self, index: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, index), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise TraceError(
            f"symbolic_trace: len({self}) is not known while the program is traced; use "
            "x.size(0) or x.shape"
        )

    def keys(self) -> Any:
        """The keys of a mapping."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        tracers: list[TracerBase] = []
        map_aggregate(
            (tuple(args), dict(kwargs)),
            lambda x: tracers.append(x.tracer) if isinstance(x, Proxy) else None,
        )
        return tracers[0].create_proxy("call_function", orig_method, tuple(args), kwargs)


class Attribute(Proxy):
    """An attribute of a proxy; it becomes a node when it is used, a method call when called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the attribute's value."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    def record(self: Proxy, *args: Any) -> Proxy:
        operands = (*args, self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", function, operands, {})

    return record


_BINARY = [
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "xor",
    "or_",
    "matmul",
]
for _name in _BINARY:
    _plain = _name.rstrip("_")
    setattr(Proxy, f"__{_plain}__", _operator(getattr(operator, _name)))
    setattr(Proxy, f"__r{_plain}__", _operator(getattr(operator, _name), reflected=True))
for _name in ["eq", "ne", "lt", "gt", "le", "ge", "neg", "pos", "invert", "abs"]:
    setattr(Proxy, f"__{_name}__", _operator(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
