"""The data of a drawing: vertices, and edges that carry tensors."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from genesis import _C
from genesis._C import Node, Tensor
from genesis.debug._trace import Saved, node_info

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

# What the kinds of operators (csrc/bindings/traits.h) are in a picture; others are arithmetic.
_SHOWN = {
    "activation": "activation",
    "attention": "product",
    "create": "view",
    "index": "view",
    "loss": "loss",
    "matrix": "product",
    "move": "view",
    "norm": "norm",
    "pool": "reduction",
    "random": "activation",
    "recurrent": "product",
    "reduction": "reduction",
    "scan": "reduction",
    "view": "view",
    "window": "product",
}
# Nodes that are no operators: x[key], memory that moves, and convolutions within gradients.
_NODES = {
    "alias": "view",
    "cast": "move",
    "convolution": "window",
    "convolution_transposed": "window",
    "convolution_weight": "window",
    "copy": "move",
    "copy_slices": "move",
    "index": "index",
    "restride": "view",
}


@functools.cache
def _kinds() -> dict[str, str]:
    return _NODES | {op["name"].strip("_"): op["kind"] for op in _C.op_info() if not op["tool"]}


def kind_of(op: str) -> str:
    """The family of an operation: it decides the colour.

    >>> kind_of("matmul"), kind_of("conv2d"), kind_of("add")
    ('product', 'product', 'arithmetic')
    """
    kind = _kinds().get(op.strip("_").removesuffix("_backward"), "")
    return _SHOWN.get(kind, "arithmetic")


@dataclass
class Vertex:
    """A box of the graph: an operation, a leaf, the output, or several operations folded into one.

    >>> x = genesis.ones(2, requires_grad=True)
    >>> [v.label for v in genesis.debug.graph(x.exp(), names={"x": x}).vertices]
    ['x', 'exp', 'output']
    """

    key: int
    label: str
    kind: str  # leaf, parameter, output, group, custom, or that of an operation
    shape: tuple[int, ...] | None
    dtype: _C.dtype
    sequence: int
    saved: tuple[Saved, ...] = ()
    released: bool = False
    module: str | None = None
    place: str | None = None
    ops: list[str] = field(default_factory=list)  # of a group
    parameters: int = 0  # elements of the leaves folded into a group

    @property
    def saved_bytes(self) -> int:
        """Bytes kept for backward, memory that is kept twice counted once."""
        sizes: dict[int, int] = {}
        for s in self.saved:
            sizes[s.storage] = max(sizes.get(s.storage, 0), s.nbytes)
        return sum(sizes.values())


@dataclass(frozen=True)
class Link:
    """A tensor on its way from the vertex that made it to one that uses it."""

    source: int
    target: int
    shape: tuple[int, ...] | None
    dtype: _C.dtype
    gradient: str | None = None  # of the loss by this tensor, through this target


@dataclass
class Model:
    """Vertices by key, in an order in which sources come before targets, and the links."""

    vertices: dict[int, Vertex]
    links: list[Link]

    def sources(self) -> dict[int, list[int]]:
        """For each vertex, those that it gets tensors from."""
        into: dict[int, list[int]] = {key: [] for key in self.vertices}
        for link in self.links:
            into[link.target].append(link.source)
        return into

    def targets(self) -> dict[int, list[int]]:
        """For each vertex, those that it gives tensors to."""
        out: dict[int, list[int]] = {key: [] for key in self.vertices}
        for link in self.links:
            out[link.source].append(link.target)
        return out


def sort(model: Model) -> Model:
    """The same graph, with vertices ordered by dependency, then by the time of recording."""
    waiting = {key: len(set(into)) for key, into in model.sources().items()}
    targets = {key: sorted(set(out)) for key, out in model.targets().items()}
    ready = sorted(
        (key for key, count in waiting.items() if count == 0),
        key=lambda key: model.vertices[key].sequence,
        reverse=True,
    )
    ordered: dict[int, Vertex] = {}
    while ready:
        key = ready.pop()
        ordered[key] = model.vertices[key]
        for target in reversed(targets[key]):
            waiting[target] -= 1
            if waiting[target] == 0:
                ready.append(target)
    return Model(ordered, model.links)


def reachable(roots: Iterable[Node]) -> list[Node]:
    seen: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        stack += [below for below, _ in node.next_functions if below is not None]
    return list(seen.values())


def leaf_names(
    outputs: Sequence[Tensor], names: Mapping[str, Tensor] | Module | None
) -> dict[str, Tensor]:
    """Names of leaves: those given, then those of parameters of modules that are alive."""
    from genesis.nn.modules.module import Module

    if isinstance(names, Module):
        return dict(names.named_parameters())
    found = dict(names or {})
    nodes = reachable(t.grad_fn for t in outputs if t.grad_fn is not None)
    leaves = [n.variable for n in nodes if n.name() == "AccumulateGrad"]
    known = {id(t) for t in found.values()}
    unnamed = {id(t) for t in leaves if t._is_parameter() and id(t) not in known}
    if not unnamed:
        return found
    # By type: isinstance queries objects of other libraries, which may cause warnings.
    owners = [m for m in gc.get_objects() if issubclass(type(m), Module)]
    inner = {id(child) for m in owners for child in m._modules.values()}
    roots = [m for m in owners if id(m) not in inner]
    using = [m for m in roots if any(id(p) in unnamed for p in m.parameters())]
    for root in using:
        prefix = f"{type(root).__name__}." if len(using) > 1 else ""
        for path, parameter in root.named_parameters():
            if id(parameter) in unnamed:
                unnamed.discard(id(parameter))
                found.setdefault(f"{prefix}{path}", parameter)
    return found


def _output_shape(node: Node, index: int) -> tuple[int, ...] | None:
    if index == 0:
        return node_info(node).shape
    shape: tuple[int, ...] | None = node.metadata.get("shapes", {}).get(index)
    return shape


def model_of(
    outputs: Sequence[Tensor],
    names: Mapping[str, Tensor],
    gradients: Mapping[tuple[int, int], str] | None = None,
) -> tuple[Model, dict[int, int]]:
    """The graph behind some tensors, and the key of each node by its ``id``.

    ``gradients`` are texts for the edges, by the ``id`` of the node and the place of the input.
    """
    called = {id(tensor): name for name, tensor in names.items()}
    roots: list[tuple[Node, int, Tensor]] = []
    for tensor in outputs:
        fn = tensor.grad_fn
        if fn is None:
            what = "is a leaf" if tensor.requires_grad else "does not require grad"
            raise ValueError(
                f"graph: a tensor of shape {tuple(tensor.shape)} {what}, so no operation is behind "
                "it; pass the result of a computation on tensors that require grad"
            )
        roots.append((fn, 0, tensor))
    nodes = reachable(node for node, _, _ in roots)
    number = {id(node): i for i, node in enumerate(nodes)}
    vertices: dict[int, Vertex] = {}
    links: list[Link] = []
    shapes: dict[tuple[int, int], tuple[int, ...]] = {}
    for node in nodes:  # known shapes of outputs beyond the first: consumers may have saved them
        for (below, index), kept in zip(node.next_functions, node.inputs, strict=True):
            if below is not None and kept is not None:
                shapes[number[id(below)], index] = tuple(kept.shape)
    for tensor in outputs:
        named = called.get(id(tensor))
        if named is None:
            named = "output" if len(outputs) == 1 else f"output {len(vertices)}"
        key = -1 - len(vertices)
        vertices[key] = Vertex(
            key, named, "output", tuple(tensor.shape), tensor.dtype, sequence=2**63
        )
        links.append(Link(number[id(tensor.grad_fn)], key, tuple(tensor.shape), tensor.dtype))
    for node in nodes:
        key = number[id(node)]
        info = node_info(node)
        leaf = node.name() == "AccumulateGrad"
        label, kind = info.op, kind_of(info.op)
        if leaf:
            variable = node.variable
            parameter = variable._is_parameter()
            label = called.get(id(variable), "parameter" if parameter else "leaf")
            kind = "parameter" if parameter else "leaf"
        elif node.name().removesuffix("Backward").lower() != info.op.replace("_", ""):
            label, kind = node.name().removesuffix("Backward"), "custom"
        vertices[key] = Vertex(
            key, label, kind, info.shape, info.dtype, node._sequence_nr(), info.saved,
            info.released, info.module, info.place,
        )  # fmt: skip
        for place, (below, index) in enumerate(node.next_functions):
            if below is None:
                continue
            source = number[id(below)]
            known = shapes.get((source, index)) or _output_shape(below, index)
            grad = (gradients or {}).get((id(node), place))
            links.append(Link(source, key, known, node_info(below).dtype, grad))
    return sort(Model(vertices, links)), number
