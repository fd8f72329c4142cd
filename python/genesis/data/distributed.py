"""Samplers for processes that train together."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from genesis import _C
from genesis._C import Generator
from genesis.data.sampler import DistributedSampler, Sampler, place_in_group

__all__ = ["DistributedSampler", "GlobalBatchSampler"]


class GlobalBatchSampler(Sampler[list[int]]):
    """Batches of the entire job, of which each process gets a contiguous part.

    ``batch_size`` counts the samples of all processes. The batches are the same for any number of
    processes, and the part of a process is a slice of them; what is left over at the end is left
    out. So the state of a loader is valid on another number of processes too. Pass it as
    ``batch_sampler``, and call `set_epoch` before each epoch.

    >>> list(GlobalBatchSampler(range(9), 4, num_replicas=2, rank=1, shuffle=False))
    [[2, 3], [6, 7]]
    """

    def __init__(
        self,
        dataset: Sized,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        num_replicas, rank = place_in_group("GlobalBatchSampler", num_replicas, rank)
        if type(batch_size) is not int or batch_size < 1 or batch_size % num_replicas:
            raise ValueError(
                f"GlobalBatchSampler: batch_size must be a multiple of the {num_replicas} "
                f"processes, got {batch_size!r}"
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"GlobalBatchSampler: rank {rank} is not in the range 0..{num_replicas - 1}"
            )
        self.dataset = dataset
        self.batch_size = batch_size
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0

    def __iter__(self) -> Iterator[list[int]]:
        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = _C.randperm(n, generator=generator).tolist()
        part = self.batch_size // self.num_replicas
        for begin in range(0, n - self.batch_size + 1, self.batch_size):
            yield order[begin + self.rank * part : begin + (self.rank + 1) * part]

    def __len__(self) -> int:
        return len(self.dataset) // self.batch_size

    def set_epoch(self, epoch: int) -> None:
        """Choose the order: every epoch has its own."""
        self.epoch = epoch
