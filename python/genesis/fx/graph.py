"""A program as a list of nodes, and the equivalent Python code."""

from __future__ import annotations

import builtins
import contextlib
import keyword
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from genesis.fx.node import Node, map_arg, qualified_name

__all__ = ["CodeGen", "Graph", "PythonCode"]


@dataclass
class PythonCode:
    """Source text, and the objects that its names refer to."""

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes the body of ``forward``; a subclass may write more around it."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str = "") -> str:
        """The line that begins the function."""
        names = ", ".join(["self", *free_vars])
        return f"def forward({names}){maybe_return_annotation}:"


class Graph:
    """Nodes in the order in which they run.

    >>> graph = genesis.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(genesis.relu, (x,))
    >>> _ = graph.output(y)
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._names: dict[str, int] = {}
        self._insert_before = self._root
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._codegen = CodeGen()

    @property
    def nodes(self) -> _NodeList:
        """The nodes, which can be iterated, reversed and counted."""
        return _NodeList(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of this kind."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # ---- making nodes -----------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node, at the end or at the position of a block of ``inserting_before``."""
        node = Node(
            self, self._unique(name or _suggestion(op, target)), op, target, args or (),
            kwargs or {}, type_expr,
        )  # fmt: skip
        self._insert_before.prepend(node)
        return node

    def _unique(self, wanted: str) -> str:
        name = re.sub(r"\W+", "_", wanted).strip("_") or "_value"
        if name[0].isdigit():
            name = f"_{name}"
        if keyword.iskeyword(name) or hasattr(builtins, name):
            name = f"{name}_1" if name not in self._names else name
        stem = re.sub(r"_\d+$", "", name)
        while name in self._names:
            self._names[stem] = self._names.get(stem, 0) + 1
            name = f"{stem}_{self._names[stem]}"
        self._names.setdefault(name, 0)
        return name

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input of the program."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, {}, None, type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, (), {}, None, type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None,
        type_expr: Any = None, name: str | None = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), {}, None, type_expr)

    def output_node(self) -> Node:
        """The node of what the program returns."""
        return self.find_nodes(op="output")[0]

    # ---- changing the program ---------------------------------------------------------------

    @contextlib.contextmanager
    def _inserting(self, point: Node) -> Iterator[None]:
        before, self._insert_before = self._insert_before, point
        try:
            yield
        finally:
            self._insert_before = before

    def inserting_before(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """A block in which new nodes come before ``n``; before all if it is None."""
        return self._inserting(self._root._next if n is None else n)

    def inserting_after(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """A block in which new nodes come behind ``n``; behind all if it is None."""
        return self._inserting(self._root if n is None else n._next)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users."""
        if to_erase.users:
            raise RuntimeError(
                f"erase_node: {to_erase} is used by {list(to_erase.users)}; replace its uses first"
            )
        to_erase._set((), {})
        to_erase._unlink()
        to_erase._erased = True

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes whose results are not used; return whether there were any."""
        found = False
        for node in reversed(list(self.nodes)):
            impure = (is_impure_node or Node.is_impure)(node)
            if not impure and not node.users:
                self.erase_node(node)
                found = True
        return found

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of a node of another graph; ``arg_transform`` finds its inputs in this one."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy all nodes of another graph; return its output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Node] = {}
        result = copied.graph_copy(self, values, return_output_node=True)
        if result is not None:
            node = copied.output(result[0], result[1].type)
            node.meta = dict(result[1].meta)
        copied._codegen = self._codegen
        return copied

    def lint(self) -> None:
        """Raise if a node uses one that is not before it, or if two nodes have one name."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(f"lint: {node} uses {used}, which is not before it")
            if node.name in names:
                raise RuntimeError(f"lint: there are two nodes named {node.name}")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                _attribute(self.owning_module, str(node.target))

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object write the source."""
        self._codegen = codegen

    # ---- the program as text ----------------------------------------------------------------

    def python_code(self, root_module: str = "self", **kwargs: Any) -> PythonCode:
        """The source of ``forward``."""
        names: dict[str, Any] = {}
        free: list[str] = []
        lines: list[str] = []
        for node in self.nodes:
            line = self._statement(node, root_module, names, free)
            if line is not None:
                lines.append(f"    {line}")
        if not any(node.op == "output" for node in self.nodes):
            lines.append("    return None")
        head = self._codegen.gen_fn_def(free)
        return PythonCode("\n".join([head, *lines]) + "\n", names)

    def _statement(
        self, node: Node, root: str, names: dict[str, Any], free: list[str]
    ) -> str | None:
        def text(value: Any) -> str:
            return _literal(value, names)

        def call(args: Any, kwargs: dict[str, Any]) -> str:
            return ", ".join([*map(text, args), *(f"{k} = {text(v)}" for k, v in kwargs.items())])

        if node.op == "placeholder":
            raw = str(node.target)
            stars = len(raw) - len(raw.lstrip("*"))
            default = f" = {text(node.args[0])}" if node.args else ""
            free.append(f"{'*' * stars}{node.name}{default}")
            return None
        if node.op == "output":
            return f"return {text(node.args[0])}"
        if node.op == "get_attr":
            return f"{node.name} = {_path(root, str(node.target))}"
        if node.op == "call_module":
            return f"{node.name} = {_path(root, str(node.target))}({call(node.args, node.kwargs)})"
        if node.op == "call_method":
            rest = call(node.args[1:], node.kwargs)
            return f"{node.name} = {text(node.args[0])}.{node.target}({rest})"
        return f"{node.name} = {_global(node.target, names)}({call(node.args, node.kwargs)})"

    def __str__(self) -> str:
        lines = [str(node.format_node()) for node in self.nodes]
        return "graph():\n" + "".join(f"    {line}\n" for line in lines)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [
            (n.op, n.name, n._pretty_print_target(n.target), str(n.args), str(n.kwargs))
            for n in self.nodes
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


class _NodeList:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._root._next
        while node is not self._graph._root:
            following = node._next
            yield node
            # A node that was erased meanwhile has lost its place; go on from where it was.
            node = node._next if not node._erased else following

    def __reversed__(self) -> Iterator[Node]:
        return iter(list(self)[::-1])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _suggestion(op: str, target: Any) -> str:
    if op == "placeholder":
        return str(target).lstrip("*")
    if isinstance(target, str):
        return target.replace(".", "_")
    return getattr(target, "__name__", type(target).__name__)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        if not hasattr(module, name):
            raise RuntimeError(f"the module has no attribute {path!r}")
        module = getattr(module, name)
    return module


def _path(root: str, path: str) -> str:
    text = root
    for name in path.split("."):
        plain = name.isidentifier() and not keyword.iskeyword(name)
        text = f"{text}.{name}" if plain else f'getattr({text}, "{name}")'
    return text


def _global(value: Any, names: dict[str, Any]) -> str:
    """A name for an object in the source."""
    if getattr(builtins, getattr(value, "__name__", ""), None) is value:
        return str(getattr(value, "__name__", value))
    stem = re.sub(r"\W", "_", qualified_name(value))
    name, count = stem, 0
    while name in names and names[name] is not value:
        count += 1
        name = f"{stem}_{count}"
    names[name] = value
    return name


def _literal(value: Any, names: dict[str, Any]) -> str:
    if isinstance(value, Node):
        return value.name
    if isinstance(value, tuple):
        items = [_literal(item, names) for item in value]
        if hasattr(value, "_fields"):
            return f"{_global(type(value), names)}({', '.join(items)})"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(_literal(item, names) for item in value)}]"
    if isinstance(value, dict):
        inside = ", ".join(f"{k!r}: {_literal(v, names)}" for k, v in value.items())
        return f"{{{inside}}}"
    if isinstance(value, slice):
        parts = ", ".join(_literal(x, names) for x in (value.start, value.stop, value.step))
        return f"slice({parts})"
    if isinstance(value, (bool, int, str, bytes, type(None), type(Ellipsis))):
        return "Ellipsis" if value is ... else repr(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f'float("{value}")'
    return _global(value, names)
