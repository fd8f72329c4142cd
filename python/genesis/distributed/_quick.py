"""The quick way of an all_reduce of short data between two ranks.

What a call needs is made once for each dtype, shape and reduction: a message with the record in
front of the data, and tensors that look into the message. A call then is two copies, one exchange
and one comparison.
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call, _reduce
from genesis.distributed._work import Work

LIMIT = 256  # channels that are kept


class Channel:
    """An all_reduce of tensors of one dtype and shape."""

    def __init__(self, group: Any, tensor: Tensor, reduction: int, record: bytes) -> None:
        head, size = _call.SIZE, tensor.nbytes
        self.group = group
        self.status = group.status
        self.record = record
        self.reduction = reduction
        message = _C.empty(head + size, dtype=_C.uint8)
        self.memory = memoryview(message)
        self.memory[:head] = record
        shape, dtype = tuple(tensor.shape), tensor.dtype
        self.out = message[head:].view(dtype=dtype).view(shape)
        arrived = group.inbox[head : head + size]
        self.arrived = arrived.view(dtype=dtype).view(shape)
        self.head = memoryview(group.inbox)[:head]
        self.adds = reduction == 0 and dtype != _C.bool
        self.exchange = group.first.Sendrecv
        self.peer = group.peer
        self.into = group.memory(group.inbox)
        self.sent = group.memory(message)
        self.message = message

    def run(self, tensor: Tensor) -> None:
        """Reduce ``tensor`` in place."""
        if tensor.requires_grad:
            tensor = tensor.detach()
        self.out.copy_(tensor)
        peer, status = self.peer, self.status
        status.begin(self.record)
        try:
            self.exchange(self.sent, peer, 1, self.into, peer, 1)
        finally:
            status.end()
        if self.head != self.record:
            group = self.group
            Work(group.queue, self.record, group._disagree(self.record, bytes(self.head))).wait()
        if self.adds:
            tensor.add_(self.arrived)
        else:
            fold(self.group.rank(), tensor, self.arrived, self.reduction)


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
