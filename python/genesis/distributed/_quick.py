"""The quick ways of an all_reduce between two ranks, without requests and generators.

What a call needs is made once for each dtype, shape and reduction. What travels is the same as in
`ProcessGroup.all_reduce`, so one rank may wait at once and the other one later.
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call, _reduce

LIMIT = 256  # channels that are kept
TAG_FIRST, TAG_DATA, TAG_RESULT = 1, 2, 3


class Short:
    """Tensors that travel in one message with the record: two copies and one exchange."""

    def __init__(self, group: Any, tensor: Tensor, reduction: int, record: bytes) -> None:
        head, size = _call.SIZE, tensor.nbytes
        self.group = group
        self.status = group.status
        self.record = record
        self.reduction = reduction
        message = _C.empty(head + size, dtype=_C.uint8)
        memoryview(message)[:head] = record
        shape, dtype = tuple(tensor.shape), tensor.dtype
        self.out = message[head:].view(dtype=dtype).view(shape)
        arrived = group.inbox[head : head + size]
        self.arrived = arrived.view(dtype=dtype).view(shape)
        self.head = memoryview(group.inbox)[:head].tobytes
        self.adds = reduction == 0 and dtype != _C.bool
        self.send, self.receive = group.first.Isend, group.first.Recv
        self.peer = group.peer
        self.into = group.memory(group.inbox)
        self.sent = group.memory(message)

    def run(self, tensor: Tensor) -> None:
        """Reduce ``tensor`` in place."""
        if tensor.requires_grad:
            tensor = tensor.detach()
        self.out.copy_(tensor)
        peer, status, record = self.peer, self.status, self.record
        sending = self.send(self.sent, peer, TAG_FIRST)
        status.begin(record)  # while the message travels
        try:
            self.receive(self.into, peer, TAG_FIRST)
            sending.Wait()
        finally:
            status.end()
        theirs = self.head()
        if theirs != record:
            raise self.group.disagreement(record, theirs)
        if self.adds:
            tensor.add_(self.arrived)
        else:
            fold(self.group.rank(), tensor, self.arrived, self.reduction)


class Long:
    """Longer tensors: the records first, then each rank reduces one half and sends the result."""

    def __init__(self, group: Any, tensor: Tensor, reduction: int, record: bytes) -> None:
        self.group = group
        self.record = record
        self.reduction = reduction
        bounds = group.bounds(tensor.numel())
        self.own = slice(*bounds[group.rank()])
        self.other = slice(*bounds[group.peer])
        self.inbox = group.memory(group.inbox)
        self.head = memoryview(group.inbox)[: _call.SIZE].tobytes

    def run(self, tensor: Tensor) -> None:
        """Reduce ``tensor`` in place."""
        group, record, peer = self.group, self.record, self.group.peer
        flat = tensor.detach().contiguous().view(-1)
        own, other = flat[self.own], flat[self.other]
        arrived = _C.empty(own.numel(), dtype=flat.dtype)
        mine, theirs = group.memory(own), group.memory(other)
        exchange = group.later.Sendrecv
        group.status.begin(record)
        try:
            group.first.Sendrecv(record, peer, TAG_FIRST, self.inbox, peer, TAG_FIRST)
            if self.head() != record:
                raise group.disagreement(record, self.head())
            exchange(theirs, peer, TAG_DATA, group.memory(arrived), peer, TAG_DATA)
            fold(group.rank(), own, arrived, self.reduction)
            exchange(mine, peer, TAG_RESULT, theirs, peer, TAG_RESULT)
        finally:
            group.status.end()
        if flat.data_ptr() != tensor.data_ptr():
            tensor.detach().copy_(flat.view(tensor.shape))


def fold(rank: int, mine: Tensor, theirs: Tensor, reduction: int) -> None:
    """Reduce what the other of two ranks sent into this rank's memory, rank 0 first."""
    if reduction in (0, _reduce.AVG) and mine.dtype != _C.bool:
        mine.add_(theirs)  # commutes, bit for bit
    elif rank == 0:
        _reduce.combine([mine, theirs], reduction)
    else:
        mine.copy_(_reduce.combine([theirs, mine], reduction))
    if reduction == _reduce.AVG:
        mine.div_(2)
