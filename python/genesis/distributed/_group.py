"""A group of ranks and how data moves among them.

Data always travels as bytes, and reductions are made here (`_reduce`), so every dtype works and
sums have a fixed order. Each operation starts with an exchange of records (`_call`), so that ranks
which do not agree all raise. Two ranks exchange point to point, and short data travels in the same
message as the record.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.autograd.graph import increment_version
from genesis.distributed import _call, _reduce
from genesis.distributed._quick import LIMIT, TAG_DATA, TAG_FIRST, TAG_RESULT, Long, Short, fold
from genesis.distributed._status import LimitedStatus, Status
from genesis.distributed._work import Queue, Steps

INLINE = 1 << 17  # bytes that travel together with the record between two ranks
PAIR = 1 << 21  # bytes up to which two ranks exchange buckets of gradients at once
PIECE = 1 << 28  # bytes that are reduced at a time, which bounds the memory for it
HEAD = _call.SIZE
_TAG_WHOLE, _TAG_CAME, _TAG_PASS = range(4, 7)


class ProcessGroup:
    """Some of the ranks of the job; made by `init_process_group` and `new_group`."""

    def __init__(
        self,
        comm: Any,
        mpi: Any,
        ranks: tuple[int, ...],
        rank: int,
        status: Status | LimitedStatus,
        deterministic: bool,
        name: str = "",
    ) -> None:
        self.ranks = ranks
        self.group_name = name
        self._rank = rank
        self._size = len(ranks)
        self.status = status
        self.deterministic = deterministic
        self.mpi = mpi
        self.queue = Queue(status, mpi)
        self.comm = comm
        self.channels: dict[Any, Short | Long] = {}
        # For the start of operations, for what comes later in them, and for messages.
        self.first: Any = None if comm is None else comm.Dup()
        self.later: Any = None if comm is None else comm.Dup()
        self.direct: Any = None if comm is None else comm.Dup()
        if self._size == 2:
            self.peer = 1 - rank
            self.inbox = _C.empty(HEAD + INLINE, dtype=_C.uint8)

    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._rank

    def size(self) -> int:
        """The number of ranks in the group."""
        return self._size

    def name(self) -> str:
        return "mpi"

    def __repr__(self) -> str:
        return f"<ProcessGroup of ranks {list(self.ranks)}, this is rank {self._rank} of it>"

    def memory(self, tensor: Tensor) -> Any:
        """The memory of a contiguous tensor, for MPI."""
        return self.mpi.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)

    def _comm(self, checked: bool) -> Any:
        """The communicator for data: the first request of an operation uses a separate one."""
        return self.later if checked else self.first

    # ---- agreement ------------------------------------------------------------------------------

    def agree(self, record: bytes, others: bool = False) -> Steps:
        """Exchange records; raises on every rank if they differ."""
        if self._size == 1:
            return
        if self._size == 2:
            theirs = bytearray(HEAD + INLINE)
            yield self._swap(record, theirs)
            if theirs[:HEAD] != record:
                raise self.disagreement(record, bytes(theirs[:HEAD]))
            return
        table = bytearray(HEAD * self._size)
        yield [self.first.Iallgather(record, table)]
        if table != record * self._size:
            rows = [bytes(table[i : i + HEAD]) for i in range(0, len(table), HEAD)]
            raise _call.mismatch(rows, self.ranks)

    def late_ranks(self, seconds: float) -> list[int]:
        """A barrier at rank 0 of the group: returns the ranks that have not reached it in time."""
        here = [0] if self._rank else [r for r in range(1, self._size)]
        end = time.monotonic() + seconds
        if self._rank:
            self.later.Isend(bytes(1), 0, _TAG_CAME).Wait()
        tag = _TAG_PASS if self._rank else _TAG_CAME
        waiting = {r: self.later.Irecv(bytearray(1), r, tag) for r in here}
        while waiting and time.monotonic() < end:
            waiting = {r: request for r, request in waiting.items() if not request.Test()}
            time.sleep(0.0005)
        for request in waiting.values():
            request.Cancel()
            request.Wait()
        if self._rank == 0 and not waiting:
            for r in here:
                self.later.Isend(bytes(1), r, _TAG_PASS).Wait()
        return list(waiting)

    def _swap(self, out: Any, into: Any, tag: int = TAG_FIRST) -> list[Any]:
        """Exchange memory with the other one of two ranks."""
        comm = self.first if tag == TAG_FIRST else self.later
        return [comm.Irecv(into, self.peer, tag), comm.Isend(out, self.peer, tag)]

    # ---- reductions -----------------------------------------------------------------------------

    def channel(self, tensor: Tensor, reduction: int, record: bytes) -> Short | Long | None:
        """The quick way for such tensors, if there is one; it is kept for the next call."""
        if self._size != 2 or not tensor.numel():
            return None
        long = tensor.nbytes > INLINE
        if long and (tensor.nbytes > PIECE or self._in_any_order(tensor.dtype, reduction)):
            return None
        if len(self.channels) >= LIMIT:  # a program whose shapes never repeat
            self.channels.clear()
        made = (Long if long else Short)(self, tensor, reduction, record)
        self.channels[tensor.dtype, tensor.shape, reduction] = made
        return made

    def _in_any_order(self, dtype: _C.dtype, reduction: int) -> bool:
        """Whether MPI itself may reduce."""
        return not self.deterministic and self._native(dtype, reduction) is not None

    def all_reduce(
        self, tensor: Tensor, reduction: int, record: bytes, checked: bool = True
    ) -> Steps:
        """Reduce over all ranks, the result on all of them, in place."""
        if self._size == 1:
            return
        whole = tensor if tensor.is_contiguous() else tensor.contiguous()
        flat = whole.detach().reshape(-1)
        if self._size == 2 and checked and flat.nbytes <= INLINE:
            yield from self._all_reduce_inline(flat, reduction, record)
        elif self._size == 2 and not checked and self.deterministic and 0 < flat.nbytes <= PAIR:
            arrived = _C.empty(flat.numel(), dtype=flat.dtype)
            yield self._swap(self.memory(flat), self.memory(arrived), _TAG_WHOLE)
            fold(self._rank, flat, arrived, reduction)
        else:
            if checked:
                yield from self.agree(record)
            if self._in_any_order(flat.dtype, reduction):
                yield from self._all_reduce_native(flat, reduction, self._comm(checked))
            elif self._size > 2 and 0 < flat.nbytes * self._size <= INLINE:
                yield from self._all_reduce_gathered(flat, reduction, self._comm(checked))
            else:
                step = PIECE // flat.itemsize
                for begin in range(0, flat.numel(), step):
                    comm = self._comm(checked or begin > 0)
                    yield from self._all_reduce_piece(flat[begin : begin + step], reduction, comm)
        if whole is not tensor:
            tensor.detach().copy_(whole)
        else:
            increment_version(tensor)

    def _all_reduce_inline(self, flat: Tensor, reduction: int, record: bytes) -> Steps:
        out = bytearray(record)
        out += memoryview(flat.view(dtype=_C.uint8))
        arrived = _C.empty(HEAD + INLINE, dtype=_C.uint8)
        yield self._swap(out, memoryview(arrived))
        theirs = bytes(memoryview(arrived[:HEAD]))
        if theirs != record:
            raise self.disagreement(record, theirs)
        fold(self._rank, flat, arrived[HEAD : HEAD + flat.nbytes].view(dtype=flat.dtype), reduction)

    def disagreement(self, mine: bytes, theirs: bytes) -> _call.CollectiveError:
        """The error of two ranks that passed different things."""
        pair = [mine, theirs]
        return _call.mismatch(pair if self._rank == 0 else pair[::-1], self.ranks)

    def _native(self, dtype: _C.dtype, reduction: int) -> Any:
        """MPI's own types for a reduction; None where MPI has none."""
        mpi = self.mpi
        types = {
            _C.float32: mpi.FLOAT, _C.float64: mpi.DOUBLE, _C.int64: mpi.INT64_T,
            _C.int32: mpi.INT32_T, _C.int16: mpi.INT16_T, _C.int8: mpi.INT8_T,
            _C.uint8: mpi.UINT8_T,
        }  # fmt: skip
        ops = (mpi.SUM, mpi.PROD, mpi.MIN, mpi.MAX, mpi.SUM, mpi.BAND, mpi.BOR, mpi.BXOR)
        return (types[dtype], ops[reduction]) if dtype in types else None

    def _all_reduce_native(self, flat: Tensor, reduction: int, comm: Any) -> Steps:
        kind, op = self._native(flat.dtype, reduction)
        spec = [self.memory(flat), flat.numel(), kind]
        yield [comm.Iallreduce(self.mpi.IN_PLACE, spec, op)]
        if reduction == _reduce.AVG:
            flat.div_(self._size)

    def _all_reduce_gathered(self, flat: Tensor, reduction: int, comm: Any) -> Steps:
        """For short data, where the number of messages counts: every rank reduces all of it."""
        parts = _C.empty((self._size, flat.numel()), dtype=flat.dtype)
        yield [comm.Iallgather(self.memory(flat), self.memory(parts))]
        if flat.numel():
            total = _reduce.combine([parts[i] for i in range(self._size)], reduction)
            flat.copy_(total.div_(self._size) if reduction == _reduce.AVG else total)

    def _all_reduce_piece(self, flat: Tensor, reduction: int, comm: Any) -> Steps:
        """Each rank reduces its part of what all sent, and all get all parts."""
        bounds = self.bounds(flat.numel())
        yield from self._reduce_parts(flat, bounds, reduction, comm)
        begin, end = bounds[self._rank]
        if self._size == 2:
            other_begin, other_end = bounds[self.peer]
            into = self.memory(flat[other_begin:other_end])
            yield self._swap(self.memory(flat[begin:end]), into, TAG_RESULT)
            return
        item = flat.itemsize
        counts = [(e - b) * item for b, e in bounds]
        places = [b * item for b, _ in bounds]
        spec = [self.memory(flat), counts, places, self.mpi.BYTE]
        yield [self.later.Iallgatherv(self.mpi.IN_PLACE, spec)]

    def bounds(self, count: int) -> list[tuple[int, int]]:
        """The elements of ``count`` that each rank reduces: equal parts, full cache lines."""
        step = -(-count // self._size)
        step = -(-step // 64) * 64
        edges = [min(i * step, count) for i in range(self._size + 1)]
        return list(itertools.pairwise(edges))

    def _reduce_parts(
        self, flat: Tensor, bounds: list[tuple[int, int]], reduction: int, comm: Any
    ) -> Steps:
        """After this, the part of this rank holds the reduction over all ranks."""
        begin, end = bounds[self._rank]
        own = flat[begin:end]
        if self._size == 2:
            other_begin, other_end = bounds[self.peer]
            arrived = _C.empty(end - begin, dtype=flat.dtype)
            out = self.memory(flat[other_begin:other_end])
            yield self._swap(out, self.memory(arrived), TAG_DATA)
            if end > begin:
                fold(self._rank, own, arrived, reduction)
            return
        item = flat.itemsize
        length = end - begin
        parts = _C.empty((self._size, length), dtype=flat.dtype)
        counts = [(e - b) * item for b, e in bounds]
        places = [b * item for b, _ in bounds]
        into = [length * item] * self._size
        spots = [i * length * item for i in range(self._size)]
        byte = self.mpi.BYTE
        yield [
            comm.Ialltoallv(
                [self.memory(flat), counts, places, byte], [self.memory(parts), into, spots, byte]
            )
        ]
        if length:
            total = _reduce.combine([parts[i] for i in range(self._size)], reduction)
            own.copy_(total.div_(self._size) if reduction == _reduce.AVG else total)

    def reduce(self, tensor: Tensor, reduction: int, root: int, record: bytes) -> Steps:
        """Reduce over all ranks, the result on ``root``."""
        if self._size == 1:
            return
        yield from self.agree(record)
        flat = tensor.detach().contiguous().reshape(-1)
        flat = flat.clone() if flat.data_ptr() == tensor.data_ptr() else flat
        bounds = self.bounds(flat.numel())
        yield from self._reduce_parts(flat, bounds, reduction, self.later)
        item = flat.itemsize
        begin, end = bounds[self._rank]
        counts = [(e - b) * item for b, e in bounds]
        places = [b * item for b, _ in bounds]
        byte = self.mpi.BYTE
        if self._rank == root:
            spec = [self.memory(flat), counts, places, byte]
            yield [self.later.Igatherv(self.mpi.IN_PLACE, spec, root)]
            tensor.detach().copy_(flat.reshape(tensor.shape))
        else:
            yield [self.later.Igatherv(self.memory(flat[begin:end]), None, root)]

    def reduce_scatter(
        self, output: Tensor, flat: Tensor, reduction: int, record: bytes, checked: bool = True
    ) -> Steps:
        """``flat`` holds as many parts as there are ranks; each rank gets the sum of its part."""
        if checked:
            yield from self.agree(record)
        length = flat.numel() // self._size
        if self._size > 1:
            bounds = [(i * length, (i + 1) * length) for i in range(self._size)]
            yield from self._reduce_parts(flat, bounds, reduction, self._comm(checked))
        begin = self._rank * length
        output.detach().copy_(flat[begin : begin + length].reshape(output.shape))

    # ---- moving data ----------------------------------------------------------------------------

    def broadcast(
        self, tensor: Tensor, root: int, record: bytes, checked: bool = True, comm: Any = None
    ) -> Steps:
        """The tensor of ``root``, on all ranks."""
        if self._size == 1:
            return
        if checked:
            yield from self.agree(record)
        whole = tensor.detach().contiguous()
        yield [(comm or self._comm(checked)).Ibcast(self.memory(whole), root)]
        if self._rank != root:
            if whole.data_ptr() != tensor.data_ptr():
                tensor.detach().copy_(whole)
            else:
                increment_version(tensor)

    def all_gather(
        self, into: Tensor, tensor: Tensor, record: bytes, checked: bool = True
    ) -> Steps:
        """The tensors of all ranks, in the contiguous ``into``."""
        if checked:
            yield from self.agree(record)
        if self._size == 1:
            into.detach().copy_(tensor.detach().reshape(into.shape))
            return
        whole = tensor.detach().contiguous()
        if self._size == 2:  # quicker than the collective operation
            rows = into.detach().view(2, -1)
            mine = rows[self._rank]
            if mine.data_ptr() != whole.data_ptr():
                mine.copy_(whole.reshape(-1))
            yield self._swap(self.memory(mine), self.memory(rows[self.peer]), TAG_DATA)
        else:
            if into.data_ptr() + self._rank * whole.nbytes == whole.data_ptr():
                yield [self._comm(checked).Iallgather(self.mpi.IN_PLACE, self.memory(into))]
            else:
                yield [self._comm(checked).Iallgather(self.memory(whole), self.memory(into))]
        increment_version(into)

    def all_to_all(
        self, into: Tensor, counts_in: list[int], out: Tensor, counts_out: list[int], record: bytes
    ) -> Steps:
        """Send part i of ``out`` to rank i; ``into`` gets a part of each; counts are elements."""
        yield from self.agree(record)
        item = out.itemsize
        if self._size == 1:
            into.copy_(out)
            return
        table = _C.empty((self._size,), dtype=_C.int64)
        mine = _C.tensor(counts_out, dtype=_C.int64)
        yield [self.later.Ialltoall(memoryview(mine), memoryview(table))]
        wrong = 0 if table.tolist() == counts_in else 1
        flags = bytearray(self._size)
        yield [self.later.Iallgather(bytes([wrong]), flags)]
        if any(flags):
            who = [self.ranks[i] for i, flag in enumerate(flags) if flag]
            detail = (
                f"; this rank expects {counts_in} elements, {table.tolist()} were sent to it"
                if wrong
                else ""
            )
            raise _call.CollectiveError(
                f"all_to_all: on ranks {who} the outputs do not have the sizes of what the other "
                f"ranks send them{detail}"
            )
        byte = self.mpi.BYTE

        def spec(tensor: Tensor, counts: list[int]) -> list[Any]:
            sizes = [c * item for c in counts]
            places = [sum(sizes[:i]) for i in range(len(sizes))]
            return [self.memory(tensor), sizes, places, byte]

        yield [self.later.Ialltoallv(spec(out, counts_out), spec(into, counts_in))]

    def gather(self, into: Tensor | None, tensor: Tensor, root: int, record: bytes) -> Steps:
        """The tensors of all ranks, on ``root``."""
        yield from self.agree(record)
        whole = tensor.detach().contiguous()
        if self._size == 1:
            if into is not None:
                into.copy_(whole.reshape(into.shape))
            return
        target = None if into is None else self.memory(into)
        yield [self.later.Igather(self.memory(whole), target, root)]

    def scatter(self, tensor: Tensor, parts: Tensor | None, root: int, record: bytes) -> Steps:
        """Send row i of ``parts`` on ``root`` to rank i."""
        yield from self.agree(record)
        whole = tensor.detach().contiguous()
        if self._size == 1:
            if parts is not None:
                tensor.detach().copy_(parts.reshape(tensor.shape))
            return
        source = None if parts is None else self.memory(parts)
        yield [self.later.Iscatter(source, self.memory(whole), root)]
        if whole.data_ptr() != tensor.data_ptr():
            tensor.detach().copy_(whole)
        else:
            increment_version(tensor)

    # ---- bytes ----------------------------------------------------------------------------------

    def all_gather_bytes(self, data: bytes, into: list[bytes], record: bytes) -> Steps:
        """Bytes of any length from all ranks."""
        yield from self.agree(record)
        if self._size == 1:
            into.append(data)
            return
        lengths = _C.empty((self._size,), dtype=_C.int64)
        mine = _C.tensor([len(data)], dtype=_C.int64)
        yield [self.later.Iallgather(memoryview(mine), memoryview(lengths))]
        sizes = lengths.tolist()
        places = [sum(sizes[:i]) for i in range(len(sizes))]
        buffer = bytearray(sum(sizes) or 1)
        spec = [buffer, sizes, places, self.mpi.BYTE]
        yield [self.later.Iallgatherv([data, len(data), self.mpi.BYTE], spec)]
        into.extend(bytes(buffer[p : p + n]) for p, n in zip(places, sizes, strict=True))
