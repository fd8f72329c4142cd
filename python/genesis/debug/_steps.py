"""Backward, one node at a time: an iterator over its steps, and a page to go through them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from genesis import autograd
from genesis._C import Node, Tensor
from genesis.debug._model import Model, leaf_names, model_of, reachable
from genesis.debug._trace import node_info

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

Grads = tuple[Tensor | None, ...]


@dataclass(frozen=True)
class Step:
    """One node of a backward pass: its incoming and outgoing gradients.

    ``gradient`` is that of the node's result (of the first, if it has several: all are in
    ``incoming``); ``outgoing`` are the gradients of its inputs, in the order of ``targets``, the
    labels of what they go to. ``so_far`` has the gradients that leaves have at this point, by name.
    """

    index: int
    label: str
    node: Node
    incoming: Grads
    outgoing: Grads
    targets: tuple[str, ...]
    values: Mapping[str, Tensor]  # what the node kept of the forward pass
    so_far: Mapping[str, Tensor]
    place: str | None = None

    @property
    def gradient(self) -> Tensor | None:
        """The gradient of the node's first result."""
        return self.incoming[0] if self.incoming else None

    def __str__(self) -> str:
        passed = ", ".join(
            f"{target}: {short(g)}" for target, g in zip(self.targets, self.outgoing, strict=True)
        )
        return f"{self.index}. {self.label}: {short(self.gradient)} -> {passed or 'nothing'}"


def short(value: Tensor | None) -> str:
    """A tensor on one line: its value, or its shape and norm.

    >>> short(genesis.tensor([1.0, 2.0])), short(genesis.ones(3, 4)), short(None)
    ('[1, 2]', '3\u00d74, norm 3.464', 'none')
    """
    if value is None:
        return "none"
    value = value.detach()
    if value.ndim == 0:
        return f"{value.item():.4g}"
    if value.ndim == 1 and value.numel() <= 4:
        return "[" + ", ".join(f"{v:.4g}" for v in value.tolist()) + "]"
    shape = "\u00d7".join(map(str, value.shape))
    return f"{shape}, norm {value.float().norm().item():.4g}"


@dataclass
class _Record:
    """What hooks on the nodes saw, in the order in which the nodes ran."""

    seen: list[tuple[Node, Grads, Grads]] = field(default_factory=list)

    def hook(self, node: Node) -> Any:
        def note(grad_inputs: Grads, grad_outputs: Grads) -> None:
            self.seen.append((node, tuple(grad_outputs), tuple(grad_inputs)))

        return node.register_hook(note)


def record(
    outputs: Sequence[Tensor], gradient: Tensor | Sequence[Tensor | None] | None
) -> list[tuple[Node, Grads, Grads]]:
    """A backward pass that changes no ``grad`` and frees nothing: node, incoming, outgoing."""
    nodes = reachable(t.grad_fn for t in outputs if t.grad_fn is not None)
    leaves = [n.variable for n in nodes if n.name() == "AccumulateGrad"]
    seen = _Record()
    handles = [seen.hook(n) for n in nodes if n.name() != "AccumulateGrad"]
    try:
        autograd.grad(outputs, leaves, gradient, retain_graph=True, allow_unused=True)
    finally:
        for handle in handles:
            handle.remove()
    return seen.seen


class Steps:
    """What ``steps()`` returns: a sequence of :class:`Step` that notebooks show as a page."""

    def __init__(self, steps: list[Step], model: Model, keys: list[int]) -> None:
        self._steps = steps
        self._model = model
        self._keys = keys  # of the vertex of each step

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, index: int) -> Step:
        return self._steps[index]

    def __str__(self) -> str:
        return "\n".join(map(str, self._steps))

    def __repr__(self) -> str:
        return f"<Steps of backward: {len(self)} nodes>"

    def html(self) -> str:
        """A page with buttons to go forward and back, or with the arrow keys."""
        from genesis.debug._steps_page import page

        return page(self._steps, self._model, self._keys)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, to open in a browser."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html())

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html())}" width="100%" height="640" '
            'style="border:0"></iframe>'
        )


def steps(
    loss: Tensor,
    gradient: Tensor | None = None,
    *,
    names: Mapping[str, Tensor] | Module | None = None,
) -> Steps:
    """Go through the backward pass of ``loss``, one node at a time.

    Iterate over the result to see each node in the order in which backward runs them, with the
    gradient that comes in, those that it passes on, and the gradients that leaves have so far.
    ``save("steps.html")`` writes a page with forward and back buttons; notebooks show it. No
    ``grad`` is changed and the graph is kept, so ``loss.backward()`` still works. ``gradient`` is
    that of ``loss`` if it has several elements; ``names`` names leaves, as in :func:`graph`.

    >>> x = genesis.tensor(3.0, requires_grad=True)
    >>> for step in genesis.debug.steps((x * x).exp(), names={"x": x}):
    ...     print(step)
    1. exp: 1 -> mul: 8103
    2. mul: 8103 -> x: 2.431e+04, x: 2.431e+04
    """
    if loss.grad_fn is None:
        raise ValueError(
            f"steps: loss of shape {tuple(loss.shape)} is not the result of a computation on "
            "tensors that require grad, so backward has no steps"
        )
    model, number = model_of([loss], leaf_names([loss], names))
    found: list[Step] = []
    keys: list[int] = []
    so_far: dict[str, Tensor] = {}
    for node, incoming, outgoing in record([loss], gradient):
        targets = []
        passed: list[Tensor | None] = []
        below_nodes = list(node.next_functions)
        for (below, _), grad in zip(below_nodes, outgoing, strict=True):
            if below is None:
                continue
            label = model.vertices[number[id(below)]].label
            targets.append(label)
            passed.append(grad)
            if below.name() == "AccumulateGrad" and grad is not None:
                so_far[label] = so_far[label] + grad if label in so_far else grad
        kept = {
            f"input {i}" if len(below_nodes) > 1 else "input": value
            for i, value in enumerate(node.inputs)
            if value is not None
        }
        key = number[id(node)]
        label = model.vertices[key].label
        found.append(
            Step(
                len(found) + 1, label, node, incoming, tuple(passed), tuple(targets), kept,
                dict(so_far), node_info(node).place,
            )
        )  # fmt: skip
        keys.append(key)
    return Steps(found, model, keys)
