"""The live graph of this thread as a list: the nodes that backward() could still run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TextIO

from genesis import _C
from genesis._C import Node
from genesis.debug._trace import dtype_name, node_info
from genesis.profiler._averages import align, bytes_text


@dataclass(frozen=True)
class Entry:
    """A recorded operation that is still alive, or a leaf that such operations end in.

    ``number`` is its place in the order of recording, ``inputs`` are the numbers of the entries
    that it computes from (None where no gradient goes), ``saved`` the bytes it keeps for backward.

    >>> x = genesis.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> entry = genesis.debug.get_tape()[-1]
    >>> entry.op, entry.shape, entry.saved, entry.is_leaf
    ('exp', (2,), 8, False)
    """

    number: int
    op: str
    name: str
    shape: tuple[int, ...] | None
    dtype: _C.dtype
    inputs: tuple[int | None, ...]
    saved: int
    released: bool
    module: str | None
    place: str | None

    @property
    def is_leaf(self) -> bool:
        return self.name == "AccumulateGrad"


class Tape(list[Entry]):
    """What ``get_tape()`` returns: entries in the order of recording; prints as a table.

    >>> x = genesis.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> [entry.op for entry in genesis.debug.get_tape()][-1]
    'exp'
    """

    saved = 0  # bytes, memory that several entries keep counted once

    def __str__(self) -> str:
        if not self:
            return "The tape is empty: no operation that backward() could run is alive here."
        modules, places = any(e.module for e in self), any(e.place for e in self)
        rows = [["#", "operation", "output", "dtype", "inputs", "saved"]]
        rows[0] += ["module"] * modules + ["line"] * places
        for e in self:
            inputs = " ".join("-" if i is None else f"#{i}" for i in e.inputs)
            shape = "?" if e.shape is None else str(e.shape)
            kept = "freed" if e.released else bytes_text(e.saved) if e.saved else "-"
            row = [f"#{e.number}", "leaf" if e.is_leaf else e.op, shape, dtype_name(e.dtype)]
            row += ["" if e.is_leaf else inputs, "" if e.is_leaf else kept]
            rows.append(row + [e.module or ""] * modules + [e.place or ""] * places)
        lines = align(rows, left=len(rows[0]))
        operations = sum(not e.is_leaf for e in self)
        plural = "operation" if operations == 1 else "operations"
        lines.append(f"{operations} {plural}, {bytes_text(self.saved)} saved for backward")
        return "\n".join(lines)


def _leaves_first(nodes: list[Node]) -> list[Node]:
    """The node of a leaf is made after that of its first user: put before it."""
    ordered: dict[Node, None] = {}
    for node in nodes:
        for source, _ in node.next_functions:
            if source is not None and source.name() == "AccumulateGrad":
                ordered[source] = None
        ordered[node] = None
    return list(ordered)


def get_tape() -> Tape:
    """The operations of this thread that are alive, in the order of recording, leaves before users.

    >>> x = genesis.ones(2, 3, requires_grad=True)
    >>> y = (x @ x.T).relu()
    >>> [(e.op, e.shape) for e in get_tape() if not e.is_leaf][-2:]
    [('matmul', (2, 2)), ('relu', (2, 2))]
    """
    tape = Tape()
    kept: dict[int, int] = {}
    for node in _leaves_first(_C._live_nodes()):
        info = node_info(node)
        for saved in info.saved:
            kept[saved.storage] = max(kept.get(saved.storage, 0), saved.nbytes)
        sources = [source for source, _ in node.next_functions]
        tape.append(
            Entry(
                number=node._sequence_nr(),
                op=info.op,
                name=node.name(),
                shape=info.shape,
                dtype=info.dtype,
                inputs=tuple(None if s is None else s._sequence_nr() for s in sources),
                saved=info.saved_bytes,
                released=info.released,
                module=info.module,
                place=info.place,
            )
        )
    tape.saved = sum(kept.values())
    return tape


def print_tape(file: TextIO | None = None) -> None:
    """Print the live graph of this thread in the order of recording.

    >>> x = genesis.ones(2, 3, requires_grad=True)
    >>> y = x.relu().sum()
    >>> print_tape()  # doctest: +SKIP
    #   operation  output  dtype    inputs  saved
    #2  leaf       (2, 3)  float32
    #1  relu       (2, 3)  float32  #2      24 B
    #3  sum        ()      float32  #1      -
    2 operations, 24 B saved for backward
    """
    print(get_tape(), file=file or sys.stdout)
