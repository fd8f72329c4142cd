"""The ranks that train together: one without a launcher, more under ``genesis run``."""

from __future__ import annotations

from typing import Any

from genesis.distributed import _environment


class Job:
    """Which rank this is, and the few exchanges that a training loop needs.

    >>> Job().size
    1
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank = rank
        self.size = size

    @classmethod
    def current(cls) -> Job:
        """The job of this process; starts its process group if a launcher made several ranks."""
        from genesis import distributed

        if not distributed.is_initialized():
            place = _environment.position()
            if not place.launched or place.size == 1:
                return cls()
            distributed.init_process_group()
        return cls(distributed.get_rank(), distributed.get_world_size())

    def largest(self, values: list[int]) -> list[int]:
        """The largest of each value over all ranks."""
        if self.size == 1:
            return values
        from genesis import _C, distributed

        flags = _C.tensor(values, dtype=_C.int64)
        distributed.all_reduce(flags, distributed.ReduceOp.MAX)
        return [int(v) for v in flags.tolist()]

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, on all ranks."""
        if self.size == 1:
            return [value]
        from genesis import distributed

        found: list[Any] = [None] * self.size
        distributed.all_gather_object(found, value)
        return found

    def from_first(self, value: Any) -> Any:
        """The value of rank 0, on all ranks."""
        if self.size == 1:
            return value
        from genesis import distributed

        values = [value]
        distributed.broadcast_object_list(values, 0)
        return values[0]
