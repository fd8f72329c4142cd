"""Samplers: the order in which samples are visited. They yield indices, or lists of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from genesis import _C
from genesis._C import Generator

__all__ = [
    "BatchSampler",
    "DistributedSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


def draw_seed(generator: Generator | None = None) -> int:
    """A seed from a generator, or from the default one."""
    return int(_C.empty((), dtype=_C.int64).random_(generator=generator).item())


def _count(sampler: str, name: str, value: Any) -> int:
    if type(value) is not int or value <= 0:
        raise ValueError(f"{sampler}: {name} must be a positive int, got {value!r}")
    return value


class Sampler(Generic[T_co]):
    """Base class. A subclass defines ``__iter__``, and ``__len__`` where it is known.

    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(Backwards())
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """All samples in order.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All samples in random order; with ``replacement``, independent draws.

    ``num_samples`` is how many to draw: by default as many as there are.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement must be a bool, got {replacement!r}")
        if num_samples is not None:
            _count("RandomSampler", "num_samples", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self.generator = generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:  # one draw of the default generator, however many samples are taken
            generator = Generator()
            generator.manual_seed(draw_seed())
        n, wanted = len(self.data_source), self.num_samples
        while wanted > 0 and n > 0:
            if self.replacement:
                piece = _C.randint(n, (min(wanted, 1 << 16),), generator=generator).tolist()
            else:
                piece = _C.randperm(n, generator=generator).tolist()[:wanted]
            yield from piece
            wanted -= len(piece)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some samples in random order.

    >>> sorted(SubsetRandomSampler([5, 3]))
    [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` draws, sample i with a probability proportional to ``weights[i]``.

    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"WeightedRandomSampler: replacement must be a bool: {replacement!r}")
        self.weights = _C.as_tensor(weights, dtype=_C.float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights must be a sequence of numbers, got shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = _count("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = _C.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler; ``drop_last`` drops a shorter last one.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(drop_last, bool):
            raise TypeError(f"BatchSampler: drop_last must be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = _count("BatchSampler", "batch_size", batch_size)
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def place_in_group(name: str, num_replicas: int | None, rank: int | None) -> tuple[int, int]:
    """The number of processes and the index of this one, from `genesis.distributed`."""
    if num_replicas is None or rank is None:
        from genesis import distributed

        if not distributed.is_initialized():
            raise ValueError(
                f"{name}: num_replicas and rank must be given: there is no process group to ask; "
                "or call genesis.distributed.init_process_group() first"
            )
        size, own = distributed.get_world_size(), distributed.get_rank()
        num_replicas = size if num_replicas is None else num_replicas
        rank = own if rank is None else rank
    return num_replicas, rank


class DistributedSampler(Sampler[int]):
    """The share of one of several processes that train together, each with other samples.

    Without ``num_replicas`` and ``rank`` they are those of the process group.

    All processes shuffle alike, by ``seed`` and the epoch: call `set_epoch` before each. The shares
    are of equal length: some samples are repeated, or with ``drop_last`` some are left out.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas, rank = place_in_group("DistributedSampler", num_replicas, rank)
        _count("DistributedSampler", "num_replicas", num_replicas)
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"DistributedSampler: rank {rank} is not in the range 0..{num_replicas - 1}"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = _C.randperm(n, generator=generator).tolist()
        repeated = itertools.islice(itertools.cycle(order), self.total_size)
        return itertools.islice(repeated, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order: every epoch has its own."""
        self.epoch = epoch
