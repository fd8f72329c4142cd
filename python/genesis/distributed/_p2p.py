"""Messages from one rank to another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.autograd.graph import increment_version
from genesis.distributed import _call
from genesis.distributed._collectives import _root, _tensor
from genesis.distributed._group import HEAD, ProcessGroup
from genesis.distributed._work import Queue, Steps, Work
from genesis.distributed._world import member


def _start(
    name: str, tensor: Tensor, peer: int | None, group: Any, tag: int, group_peer: int | None
) -> tuple[ProcessGroup, int | None] | None:
    found = member(group, name)
    if found is None:
        return None
    _tensor(name, "tensor", tensor)
    if not isinstance(tag, int) or tag < 0:
        raise ValueError(f"{name}: tag must be an int from 0, got {tag!r}")
    word = "dst" if name.endswith("send") else "src"
    if peer is None and group_peer is None and word == "src":
        return found, None
    root = _root(name, found, peer, group_peer, word)
    if root == found.rank():
        raise ValueError(f"{name}: {word}={found.ranks[root]} is this rank itself")
    return found, root


def _send_steps(group: ProcessGroup, tensor: Tensor, to: int, tag: int, record: bytes) -> Steps:
    whole = tensor.detach().contiguous()
    yield [
        group.direct.Isend(record, to, 2 * tag),
        group.direct.Isend(group.memory(whole), to, 2 * tag + 1),
    ]


def _recv_steps(
    group: ProcessGroup, tensor: Tensor, source: int | None, tag: int, sender: list[int]
) -> Steps:
    mpi = group.mpi
    if source is None:  # any rank: the record identifies it, and its data follows from there
        status = mpi.Status()
        group.direct.Probe(mpi.ANY_SOURCE, 2 * tag, status)
        source = status.Get_source()
    sender.append(source)
    whole = tensor.detach()
    if not whole.is_contiguous():
        whole = _C.empty(tuple(tensor.shape), dtype=tensor.dtype)
    theirs = bytearray(HEAD)
    with contextlib.suppress(mpi.Exception):  # more data than fits: the record describes it
        yield [
            group.direct.Irecv(theirs, source, 2 * tag),
            group.direct.Irecv(group.memory(whole), source, 2 * tag + 1),
        ]
    expected = _call.record("send", tensor.dtype, tensor.shape, root=group.rank())
    if theirs != expected:
        raise _call.CollectiveError(
            f"recv: rank {group.ranks[group.rank()]} expects {tensor.dtype} {tuple(tensor.shape)}, "
            f"but rank {group.ranks[source]} called {_call.describe(bytes(theirs))}"
        )
    if whole.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(whole)
    else:
        increment_version(tensor)


def _own_queue(group: ProcessGroup) -> Queue:
    """Messages have a separate order: they do not wait for collective operations."""
    return Queue(group.status, group.mpi)


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send ``tensor`` to the rank ``dst``."""
    started = _start("isend", tensor, dst, group, tag, group_dst)
    if started is None:
        return None
    found, to = started
    assert to is not None
    record = _call.record("send", tensor.dtype, tensor.shape, root=to)
    return Work(_own_queue(found), record, _send_steps(found, tensor, to, tag, record))


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to receive into ``tensor`` what the rank ``src`` sends (None: any rank)."""
    work, _ = _receive("irecv", tensor, src, group, tag, group_src)
    return work


def _receive(
    name: str, tensor: Tensor, src: int | None, group: Any, tag: int, group_src: int | None
) -> tuple[Work | None, list[int]]:
    started = _start(name, tensor, src, group, tag, group_src)
    sender: list[int] = []
    if started is None:
        return None, sender
    found, source = started
    record = _call.record("recv", tensor.dtype, tensor.shape, root=-1 if source is None else source)
    steps = _recv_steps(found, tensor, source, tag, sender)
    if source is None:
        found.status.begin(record)
    try:
        return Work(_own_queue(found), record, steps), sender
    finally:
        if source is None:
            found.status.end()


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send ``tensor`` to the rank ``dst``."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into ``tensor`` what the rank ``src`` sends (None: any rank); returns the sender.

    If dtype or shape differ from what was sent, it raises.
    """
    work, sender = _receive("recv", tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    found = member(group, "recv")
    assert found is not None
    return found.ranks[sender[0]]


class P2POp:
    """An `isend` or `irecv` for `batch_isend_irecv`."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: op must be genesis.distributed.isend or irecv, got {op!r}")
        self.op = op
        self.tensor = tensor
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, {tuple(self.tensor.shape)}, peer={self.peer})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several messages at once; returns a handle for each."""
    if not p2p_op_list or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("batch_isend_irecv: expected a list of P2POp that is not empty")
    works = [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
    return [work for work in works if work is not None]
