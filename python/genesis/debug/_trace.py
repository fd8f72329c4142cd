"""Noting where operations are recorded, and reading such notes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from genesis import _C, _scope
from genesis._C import Node


@contextmanager
def trace() -> Iterator[None]:
    """Inside, every recorded operation notes its module and line, for graphs and the tape.

    >>> layer = genesis.nn.Linear(2, 1)
    >>> with genesis.debug.trace():
    ...     y = layer(genesis.ones(1, 2))
    >>> genesis.debug.get_tape()[-1].module
    'Linear'
    """
    _C._trace_nodes(True)
    _scope.watch(True)
    try:
        yield
    finally:
        _C._trace_nodes(False)
        _scope.watch(False)


@dataclass(frozen=True)
class Saved:
    """A tensor that a node keeps for its gradient; ``storage`` tells which share memory."""

    dtype: _C.dtype
    shape: tuple[int, ...]
    nbytes: int
    storage: int


@dataclass(frozen=True)
class NodeInfo:
    """The properties of a node."""

    op: str
    dtype: _C.dtype
    shape: tuple[int, ...] | None  # of the first output; None where it is not known
    released: bool
    saved: tuple[Saved, ...]
    module: str | None
    place: str | None  # file:line

    @property
    def saved_bytes(self) -> int:
        return sum(s.nbytes for s in self.saved)


def node_info(node: Node) -> NodeInfo:
    """What a node is, keeps, and where it was recorded."""
    op, dtype, shape, released, origin, saved = _C._node_info(node)
    module = place = None
    if origin is not None:
        from genesis.autograd._anomaly import user_frame

        module = origin[0]
        frame = user_frame(origin)
        if frame is not None:
            here = os.path.join(os.getcwd(), "")
            place = f"{frame[0].co_filename.removeprefix(here)}:{frame[1]}"
    return NodeInfo(
        op=op.lstrip("_"),
        dtype=dtype,
        shape=shape,
        released=released,
        saved=tuple(Saved(*s) for s in saved),
        module=module,
        place=place,
    )


def dtype_name(dtype: _C.dtype) -> str:
    return str(dtype).removeprefix("genesis.")


def shape_text(shape: tuple[int, ...] | None) -> str:
    """A shape as on an edge of a graph.

    >>> shape_text((7,)), shape_text(()), shape_text(None)
    ('7', 'scalar', '?')
    """
    if shape is None:
        return "?"
    return "\u00d7".join(map(str, shape)) if shape else "scalar"  # a multiplication sign
