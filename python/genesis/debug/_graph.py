"""The graph behind a tensor, as an object that shows itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from genesis._C import Tensor
from genesis.debug._fold import fold as fold_model
from genesis.debug._model import Link, Model, Vertex, leaf_names, model_of
from genesis.debug._svg import svg
from genesis.debug._text import dot, mermaid, plain
from genesis.debug._trace import trace

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

LIMIT = 40  # more vertices than this are folded


class Graph:
    """What ``graph()`` returns. Notebooks draw it; ``str``, ``dot()``, ``mermaid()``, ``svg()``.

    ``vertices`` come with sources before targets; ``links`` are the tensors that pass between them;
    ``full`` is the same graph without folding.

    >>> x = genesis.ones(3, requires_grad=True)
    >>> g = graph((x * 2).sum(), names={"x": x})
    >>> print(g)
    #   operation  output  dtype    from  saved
    #0  x          3       float32
    #1  mul        3       float32  #0
    #2  sum        scalar  float32  #1
    #3  output     scalar  float32  #2
    """

    def __init__(self, model: Model, drawn: Model, title: str) -> None:
        self._model = model
        self._drawn = drawn
        self.title = title

    @property
    def vertices(self) -> list[Vertex]:
        """The boxes of the picture."""
        return list(self._drawn.vertices.values())

    @property
    def links(self) -> list[Link]:
        """The lines of the picture: ``source`` and ``target`` are keys of vertices."""
        return list(self._drawn.links)

    @property
    def full(self) -> Graph:
        """The graph with nothing folded.

        >>> x = genesis.ones(2, requires_grad=True)
        >>> y = x
        >>> for _ in range(100):
        ...     y = y * 2
        >>> len(graph(y).vertices), len(graph(y).full.vertices)
        (3, 102)
        """
        return Graph(self._model, self._model, self.title)

    @property
    def saved_bytes(self) -> int:
        """Bytes that the graph keeps for backward, with shared memory counted once.

        >>> x = genesis.ones(10, requires_grad=True)
        >>> graph(x.exp().sin()).saved_bytes
        40
        """
        sizes: dict[int, int] = {}
        for v in self._model.vertices.values():
            for s in v.saved:
                sizes[s.storage] = max(sizes.get(s.storage, 0), s.nbytes)
        return sum(sizes.values())

    def __str__(self) -> str:
        return plain(self._drawn)

    def __repr__(self) -> str:
        folded = len(self._model.vertices) - len(self._drawn.vertices)
        more = f", folded from {len(self._model.vertices)}" if folded else ""
        return f"<Graph of {self.title}: {len(self._drawn.vertices)} vertices{more}>"

    def dot(self) -> str:
        """The graph in the language of Graphviz.

        >>> x = genesis.ones(2, requires_grad=True)
        >>> graph(x.exp()).dot().splitlines()[0]
        'digraph genesis {'
        """
        return dot(self._drawn, self.title)

    def mermaid(self) -> str:
        """The graph in the language of Mermaid, which Markdown draws in a block of that name.

        >>> x = genesis.ones(2, requires_grad=True)
        >>> graph(x.exp()).mermaid().splitlines()[0]
        'flowchart TD'
        """
        return mermaid(self._drawn)

    def svg(self) -> str:
        """The graph as an SVG picture; nothing else needs to be installed.

        >>> x = genesis.ones(2, requires_grad=True)
        >>> graph(x.exp()).svg()[:4]
        '<svg'
        """
        return svg(self._drawn, self.title)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in the format that its name ends with: .svg, .dot, .mmd, .txt or .html.

        >>> x = genesis.ones(2, requires_grad=True)
        >>> graph(x.exp()).save("exp.pdf")
        Traceback (most recent call last):
        ...
        ValueError: save: the name must end with .dot, .html, .mmd, .svg or .txt, got 'exp.pdf'
        """
        formats: dict[str, Callable[[], str]] = {
            ".dot": self.dot,
            ".html": self._repr_html_,
            ".mmd": self.mermaid,
            ".svg": self.svg,
            ".txt": self.__str__,
        }
        ending = os.path.splitext(os.fspath(path))[1]
        if ending not in formats:
            raise ValueError(
                f"save: the name must end with .dot, .html, .mmd, .svg or .txt, got {path!r}"
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(formats[ending]() + "\n")

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto;max-height:80vh">{self.svg()}</div>'


def _results(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _results(item)]
    return []


def _edge_gradients(results: list[Tensor]) -> dict[tuple[int, int], str]:
    """What flows back along each edge, by node and place of the input."""
    from genesis.debug._steps import record

    if any(t.numel() != 1 for t in results):
        raise ValueError(
            "graph: gradients=True needs results of one element, as a loss is; "
            f"got {[tuple(t.shape) for t in results]}"
        )
    return {
        (id(node), place): f"∇ {grad.item():.3g}" if grad.ndim == 0 else f"‖∇‖ {grad.norm():.3g}"
        for node, _, outgoing in record(results, None)
        for place, grad in enumerate(outgoing)
        if grad is not None
    }


def graph(
    target: Tensor | Sequence[Tensor] | Callable[..., Any],
    *inputs: Any,
    names: Mapping[str, Tensor] | Module | None = None,
    fold: bool | int = True,
    gradients: bool = False,
) -> Graph:
    """The graph behind one or several tensors, or behind what a function or module returns.

    ``graph(model, x)`` runs the model and knows the modules and lines of its operations; of tensors
    these are known if they were computed inside ``debug.trace()``. ``names`` gives leaves their
    names: a dict, or a module whose parameters they are; parameters of modules that are alive have
    their names there by themselves. With ``gradients``, a backward pass is run, which changes no
    ``grad``, and each edge shows the gradient that flows back along it, or its norm. A graph of
    more than 40 vertices (or the number given as ``fold``) is folded by module; where that is not
    enough, by chains of operations, then by what only one other vertex uses.

    >>> net = genesis.nn.Sequential(genesis.nn.Linear(4, 3), genesis.nn.Identity())
    >>> [v.label for v in graph(net, genesis.ones(2, 4)).vertices]
    ['0.weight', '0.bias', 'linear', 'output']
    """
    from genesis.nn.modules.module import Module

    called: dict[str, Tensor] = {}
    title = "a tensor"
    if isinstance(target, Tensor) or not callable(target):
        if inputs:
            raise TypeError(
                "graph: inputs go to a function or module; the first argument here is not callable"
            )
        results = _results(target)
    else:
        title = type(target).__name__
        if isinstance(target, Module):
            called.update(target.named_parameters())
        else:
            title = getattr(target, "__name__", title)
        for i, x in enumerate(inputs):
            if isinstance(x, Tensor):
                called["input" if len(inputs) == 1 else f"input {i}"] = x
        with trace():
            results = _results(target(*inputs))
    results = [t for t in results if t.grad_fn is not None] or results
    if not results:
        raise TypeError(f"graph: expected a tensor or what computes one, got {target!r}")
    if isinstance(names, Module):
        called.update(names.named_parameters())
    elif names is not None:
        called.update(names)
    flow = _edge_gradients(results) if gradients else None
    model, _ = model_of(results, leaf_names(results, called), flow)
    limit = (LIMIT if fold else len(model.vertices)) if isinstance(fold, bool) else fold
    return Graph(model, fold_model(model, limit), title)
