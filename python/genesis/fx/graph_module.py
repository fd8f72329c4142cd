"""A module whose ``forward`` is a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any, cast

from genesis.fx.graph import Graph
from genesis.nn.modules.module import Module

__all__ = ["GraphModule"]

_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module the parameter, buffer, submodule or value that another has at a path."""
    *prefix, name = target.split(".")
    for item in prefix:
        from_module = getattr(from_module, item)
        if not hasattr(to_module, item):
            to_module.add_module(item, Module())
        to_module = getattr(to_module, item)
    value = getattr(from_module, name)
    if name in from_module._buffers:
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


class GraphModule(Module):
    """A module made from a graph: its ``forward`` is the Python code of the graph.

    ``root`` is a module, or a dict of names and values, that has what the graph refers to. After a
    change of the graph, ``recompile()`` makes a new ``forward``.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A separate class for each: forward belongs to the class.
        made = type("GraphModule", (cls,), {"__module__": cls.__module__})
        return object.__new__(made)

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        for node in graph.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            path = str(node.target)
            if isinstance(root, Module):
                _copy_attr(root, self, path)
            elif path in root:
                self._put(path, root[path])
            else:
                raise RuntimeError(f"GraphModule: the graph refers to {path!r}, which root has not")
        self.meta: dict[str, Any] = {}
        self.graph = graph

    def _put(self, path: str, value: Any) -> None:
        place: Module = self
        *prefix, name = path.split(".")
        for item in prefix:
            if not hasattr(place, item):
                place.add_module(item, Module())
            place = getattr(place, item)
        setattr(place, name, value)

    @property
    def graph(self) -> Graph:
        """The graph; setting it makes a new ``forward``."""
        return cast(Graph, self._graph)

    @graph.setter
    def graph(self, g: Graph) -> None:
        self.__dict__["_graph"] = copy.deepcopy(g) if g.owning_module not in (None, self) else g
        self._graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        return str(self._code)

    def recompile(self) -> Any:
        """Recreate ``forward`` from the graph."""
        code = self._graph.python_code("self")
        self.__dict__["_code"] = code.src
        file = f"<genesis.fx {next(_numbers)}>"
        linecache.cache[file] = (len(code.src), None, code.src.splitlines(True), file)
        names = dict(code.globals)
        exec(compile(code.src, file, "exec"), names)
        type(self).forward = names["forward"]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path."""
        self._put(target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; whether there was one."""
        *prefix, name = target.split(".")
        place: Any = self
        for item in prefix:
            place = getattr(place, item, None)
        if not isinstance(getattr(place, name, None), Module):
            return False
        delattr(place, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove modules that the graph does not refer to."""
        used = {str(n.target) for n in self._graph.nodes if n.op in ("call_module", "get_attr")}
        for name, _ in list(self.named_modules()):
            if name and not any(u == name or u.startswith(f"{name}.") for u in used):
                inside = any(name.startswith(f"{u}.") for u in used)
                if not inside:
                    self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **kwargs: Any) -> str:
        """The source of ``forward``, printed."""
        text = f"class {type(self).__name__}(Module):\n" + "".join(
            f"    {line}\n" for line in self.code.splitlines()
        )
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: Any) -> GraphModule:
        plain = Module()
        plain.__dict__.update(
            {k: copy.deepcopy(v, memo) for k, v in self.__dict__.items() if k not in ("_graph",)}
        )
        plain.__setstate__(plain.__dict__)
        made = GraphModule(plain, copy.deepcopy(self._graph), type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        return _restore, (state, self._graph_data(), type(self).__name__)

    def _graph_data(self) -> list[Any]:
        number = {node: i for i, node in enumerate(self._graph.nodes)}
        from genesis.fx.node import map_arg

        return [
            (n.op, n.target, map_arg(n.args, lambda x: _Ref(number[x])),
             map_arg(n.kwargs, lambda x: _Ref(number[x])), n.name)
            for n in self._graph.nodes
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{super().__repr__()}\n\n{self.code}"


class _Ref:
    """The place of a node, in a pickle."""

    def __init__(self, number: int) -> None:
        self.number = number


def _restore(state: dict[str, Any], rows: list[Any], name: str) -> GraphModule:
    from genesis.fx.node import map_aggregate

    graph, nodes = Graph(), list[Any]()
    for op, target, args, kwargs, label in rows:
        swap = lambda x: nodes[x.number] if isinstance(x, _Ref) else x  # noqa: E731
        nodes.append(
            graph.create_node(
                op, target, map_aggregate(args, swap), map_aggregate(kwargs, swap), label
            )
        )
    plain = Module()
    plain.__setstate__({**plain.__dict__, **state})
    return GraphModule(plain, graph, name)
