"""The structure of a model: shapes, parameters, operations and memory, module by module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from math import prod
from typing import TYPE_CHECKING, Any

import genesis
from genesis._C import Tensor
from genesis.debug._model import model_of
from genesis.debug._trace import shape_text, trace
from genesis.profiler import profile
from genesis.profiler._averages import align, bytes_text, count_text

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module


@dataclass(frozen=True)
class Row:
    """One module of a summary. FLOPs and saved bytes include the modules below it.

    >>> row = genesis.debug.summary(genesis.nn.Linear(3, 4), genesis.ones(2, 3)).rows[0]
    >>> row.type, row.output_shapes, row.parameters, row.flops
    ('Linear', [(2, 4)], 16, 56)
    """

    path: str
    type: str
    depth: int
    output_shapes: list[tuple[int, ...]]  # of the last call
    parameters: int  # its own, without those of submodules
    trainable: int
    flops: int
    saved_bytes: int
    calls: int


@dataclass(frozen=True)
class Summary:
    """What ``summary()`` returns; prints as a table, notebooks show one.

    >>> s = genesis.debug.summary(genesis.nn.Linear(3, 4), genesis.ones(2, 3))
    >>> s.parameters, s.parameter_bytes, s.flops
    (16, 64, 56)
    """

    rows: list[Row]
    parameters: int
    trainable: int
    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int
    output_bytes: int
    flops: int  # of one forward pass
    saved_bytes: int  # kept for backward, parameters left out
    peak_bytes: int  # taken by the forward pass at its highest

    def _cells(self) -> list[list[str]]:
        cells = [["Module", "Output", "Parameters", "FLOPs", "Saved"]]
        parents = {row.path.rpartition(".")[0] for row in self.rows if row.calls}
        for row in self.rows:
            name = row.path.rpartition(".")[2]
            label = f"{name} ({row.type})" if name else row.type
            shapes = " ".join(shape_text(s) for s in row.output_shapes) or "-"
            cells.append([
                "  " * row.depth + label + (f" x{row.calls}" if row.calls > 1 else ""),
                shapes if row.calls or row.path in parents else "not called",
                f"{row.parameters:,}" if row.parameters else "-",
                count_text(row.flops) if row.flops else "-",
                bytes_text(row.saved_bytes) if row.saved_bytes else "-",
            ])  # fmt: skip
        return cells

    def _totals(self) -> list[str]:
        fixed = self.parameters - self.trainable
        return [
            f"Parameters: {self.parameters:,} ({bytes_text(self.parameter_bytes)})"
            + (f", {fixed:,} of them not trainable" if fixed else ""),
            f"FLOPs of a forward pass: {count_text(self.flops)}",
            f"Memory: input {bytes_text(self.input_bytes)}, "
            f"output {bytes_text(self.output_bytes)}, buffers {bytes_text(self.buffer_bytes)}, "
            f"saved for backward {bytes_text(self.saved_bytes)}, "
            f"peak of the forward pass {bytes_text(self.peak_bytes)}",
        ]

    def __str__(self) -> str:
        lines = align(self._cells(), left=2)
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self._totals()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def line(cells: list[str], tag: str) -> str:
            text = "".join(
                f'<{tag} style="text-align:{"left" if i < 2 else "right"};white-space:pre">'
                f"{escape(cell)}</{tag}>"
                for i, cell in enumerate(cells)
            )
            return f"<tr>{text}</tr>"

        head, *body = self._cells()
        rows = "".join(line(cells, "td") for cells in body)
        totals = "<br/>".join(map(escape, self._totals()))
        return f"<table>{line(head, 'th')}{rows}</table><p>{totals}</p>"


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors(item)]
    return []


def _address(t: Tensor) -> int:
    """Where its memory begins, as ``Saved.storage`` has it."""
    return t.data_ptr() - t.storage_offset() * t.itemsize


def _within(path: str | None, prefix: str) -> bool:
    return path is not None and (path == prefix or path.startswith(prefix + "."))


def _saved_by_module(outputs: list[Tensor], parameters: set[int]) -> dict[str, int]:
    """Bytes kept for backward by path of module, each memory counted for the first that kept it."""
    outputs = [t for t in outputs if t.grad_fn is not None]
    if not outputs:
        return {}
    seen = set(parameters)
    saved: dict[str, int] = {}
    vertices = model_of(outputs, {})[0].vertices.values()
    for v in sorted(vertices, key=lambda v: v.sequence):
        for s in v.saved:
            if s.storage not in seen:
                seen.add(s.storage)
                path = v.module or ""
                saved[path] = saved.get(path, 0) + s.nbytes
    return saved


def summary(model: Module, *inputs: Any, depth: int | None = None, **kwargs: Any) -> Summary:
    """Run ``model(*inputs, **kwargs)`` once and report the inputs and outputs of each module.

    The model is as before afterwards: buffers and the random state are put back. FLOPs count a
    multiplication and an addition as two; those of elementwise operations are included, and
    approximate. ``depth`` limits how deep the table goes.

    >>> net = genesis.nn.Sequential(genesis.nn.Linear(8, 16), genesis.nn.Linear(16, 2))
    >>> table = genesis.debug.summary(net, genesis.ones(4, 8))
    >>> [(row.type, row.output_shapes) for row in table.rows]
    [('Sequential', [(4, 2)]), ('Linear', [(4, 16)]), ('Linear', [(4, 2)])]
    """
    root = type(model).__name__
    shapes: dict[int, list[tuple[int, ...]]] = {}
    calls: dict[int, int] = {}

    def note(module: Module, args: Any, output: Any) -> None:
        shapes[id(module)] = [tuple(t.shape) for t in _tensors(output)]
        calls[id(module)] = calls.get(id(module), 0) + 1

    handles = [module.register_forward_hook(note) for module in model.modules()]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    before = genesis.memory.allocated()
    try:
        genesis.memory.reset_peak()
        with genesis.fork_rng(), trace(), profile() as p:
            result = model(*inputs, **kwargs)
        peak = genesis.memory.peak() - before
    finally:
        for handle in handles:
            handle.remove()
        with genesis.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
    outputs = _tensors(result)
    given = list(model.parameters())
    saved = _saved_by_module(outputs, {_address(t) for t in given})
    flops: dict[str, int] = {}
    for event in p.events():
        if event.flops:
            path = event.module or ""
            flops[path] = flops.get(path, 0) + event.flops
    rows = []
    for name, module in model.named_modules():
        level = name.count(".") + 1 if name else 0
        if depth is not None and level > depth:
            continue
        path = f"{root}.{name}" if name else root
        own = list(module.parameters(recurse=False))
        rows.append(
            Row(
                path=name,
                type=type(module).__name__,
                depth=level,
                output_shapes=shapes.get(id(module), []),
                parameters=sum(prod(t.shape) for t in own),
                trainable=sum(prod(t.shape) for t in own if t.requires_grad),
                flops=sum(n for at, n in flops.items() if _within(at, path)),
                saved_bytes=sum(n for at, n in saved.items() if _within(at, path)),
                calls=calls.get(id(module), 0),
            )
        )
    return Summary(
        rows=rows,
        parameters=sum(prod(t.shape) for t in given),
        trainable=sum(prod(t.shape) for t in given if t.requires_grad),
        parameter_bytes=sum(t.nbytes for t in given),
        buffer_bytes=sum(b.nbytes for b, _ in buffers),
        input_bytes=sum(t.nbytes for t in _tensors((inputs, kwargs))),
        output_bytes=sum(t.nbytes for t in outputs),
        flops=sum(flops.values()),
        saved_bytes=sum(saved.values()),
        peak_bytes=peak,
    )
