"""The description of a parameter that is sharded among ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call
from genesis.distributed._group import ProcessGroup
from genesis.distributed._work import Work
from genesis.distributed.checkpoint._files import Piece


def rows_of(count: int, parts: int, number: int) -> tuple[int, int]:
    """The rows that a part gets: as `chunk` cuts them, the last ones may be short or empty."""
    step = -(-count // parts)
    return min(number * step, count), min((number + 1) * step, count)


def gather_rows(group: ProcessGroup, local: Tensor, dim: int, count: int) -> Tensor:
    """The full tensor, of which each rank has a part along ``dim``."""
    if group.size() == 1:
        return local
    step = -(-count // group.size())
    moved = local.detach().movedim(dim, 0)
    padded = moved.contiguous()
    if padded.shape[0] < step:
        padded = _C.zeros((step, *moved.shape[1:]), dtype=local.dtype)
        padded[: moved.shape[0]] = moved
    into = _C.empty((group.size() * step, *moved.shape[1:]), dtype=local.dtype)
    record = _call.record("all_gather", padded.dtype, padded.shape)
    Work(group.queue, record, group.all_gather(into, padded, record)).wait()
    return into[:count].movedim(0, dim).contiguous()


@dataclass
class ShardSpec:
    """The position of a shard in the full parameter: one dimension is split."""

    group: ProcessGroup
    shape: tuple[int, ...]
    dim: int

    def bounds(self) -> tuple[int, int]:
        return rows_of(self.shape[self.dim], self.group.size(), self.group.rank())

    def cut(self, whole: Tensor) -> Tensor:
        """This rank's part of a full tensor."""
        begin, end = self.bounds()
        return whole.narrow(self.dim, begin, end - begin)

    def full(self, local: Tensor) -> Tensor:
        """The full tensor. All ranks of the group call it."""
        return gather_rows(self.group, local, self.dim, self.shape[self.dim])

    def piece(self, local: Tensor) -> Piece:
        begin = [0] * len(self.shape)
        begin[self.dim] = self.bounds()[0]
        return Piece(local, tuple(begin), self.shape, local.dtype)


def mark(parameter: Tensor, spec: ShardSpec) -> None:
    """Note on a parameter how it is divided."""
    parameter.__dict__["_shard_spec"] = spec


def spec_of(parameter: Any) -> ShardSpec | None:
    """How a parameter is divided; None for one that every rank has."""
    found: ShardSpec | None = getattr(parameter, "_shard_spec", None)
    return found
