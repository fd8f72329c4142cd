"""DataLoader: batches of a dataset in some order, made here or by workers."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from genesis._C import Generator
from genesis.data.collate import default_collate, default_convert
from genesis.data.dataset import IterableDataset
from genesis.data.epoch import Epoch, sampler_states, set_sampler_states
from genesis.data.fetch import END, Fetcher, Recipe
from genesis.data.pool import Pool, ProcessPool, ThreadPool
from genesis.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from genesis.data.worker import Answer, Begin, Failure, Task

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)
_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class DataLoader(Generic[T_co]):
    """Iterates over batches of a dataset.

    ``shuffle`` or a ``sampler`` give the order, ``batch_size`` and ``drop_last`` or a
    ``batch_sampler`` the batches; ``batch_size=None`` gives single samples. ``num_workers``
    processes (``worker_type="thread"``: threads) make ``prefetch_factor`` batches each ahead;
    ``persistent_workers`` keeps them between epochs; ``in_order=False`` takes batches as they come.
    ``timeout`` is in seconds. ``pin_memory`` is accepted: on a CPU there is nothing to pin.

    The batches of a seed are the same for any number of worker processes, random draws in the
    dataset included: while batch k is made, `genesis`, `random` and `numpy.random` draw from a seed
    for k. (Threads share these generators with training, so there draws come as they come.)

    >>> data = genesis.data.TensorDataset(genesis.arange(5))
    >>> [x.tolist() for x, in DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]

    `state_dict` in the middle of a pass says where it stands; the loader that gets it goes on with
    the very next batch.

    >>> loader = DataLoader(data, batch_size=2, shuffle=True)
    >>> batches = iter(loader)
    >>> first, state = next(batches), loader.state_dict()
    >>> other = DataLoader(data, batch_size=2, shuffle=True)
    >>> other.load_state_dict(state)
    >>> genesis.equal(next(batches)[0], next(iter(other))[0])
    True
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Sequence[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_type: str = "process",
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if worker_type not in ("process", "thread"):
            raise ValueError(
                f"DataLoader: worker_type must be 'process' or 'thread', got {worker_type!r}"
            )
        iterable = isinstance(dataset, IterableDataset)
        if iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader: an IterableDataset has an order of its own; shuffle, sampler and "
                "batch_sampler are for datasets with indices"
            )
        if sampler is not None and shuffle:
            raise ValueError(
                "DataLoader: sampler and shuffle exclude each other; drop shuffle=True"
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler makes the batches, so batch_size, shuffle, sampler "
                    "and drop_last cannot be given as well"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "DataLoader: batch_size=None makes no batches, so drop_last has no use"
            )
        if sampler is None and not iterable:
            if not hasattr(dataset, "__len__"):
                name = type(dataset).__name__
                raise TypeError(
                    f"DataLoader: samples are drawn by number, but the dataset {name} has no "
                    f"length; define {name}.__len__(self), or derive it from IterableDataset"
                )
            shuffled = RandomSampler(dataset, generator=generator) if shuffle else None
            sampler = SequentialSampler(dataset) if shuffled is None else shuffled
        if batch_size is not None and batch_sampler is None and not iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]

        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = _context(multiprocessing_context, num_workers)
        self.generator = generator
        self.prefetch_factor = (prefetch_factor or 2) if num_workers else None
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.worker_type = worker_type
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self._pool: Pool | None = None
        self._uses = 0  # epochs that the pool has seen
        self._epoch: Epoch | None = None
        self._loaded: dict[str, Any] | None = None
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_ready", False):
            raise ValueError(f"DataLoader: {name} cannot be changed; make a new DataLoader")
        super().__setattr__(name, value)

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            self.dataset,
            isinstance(self.dataset, IterableDataset),
            self.batch_size is not None or self.batch_sampler is not None,
            self.collate_fn,
            self.batch_size,
            self.drop_last,
        )

    def _index_sampler_iter(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            return itertools.repeat(None)
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T_co]:
        state, self._loaded = self._loaded, None
        if state is not None and state["delivered"] is None:
            state = None
        epoch = self._epoch = Epoch(self, state)
        if self.num_workers == 0:
            return _Here(self, epoch)
        return _Workers(self, epoch, self._workers(epoch.seed))

    def _workers(self, seed: int) -> Pool:
        pool = self._pool
        if pool is None or not pool.stop.alive:
            init, n = self.worker_init_fn, self.num_workers
            if self.worker_type == "thread":
                pool = ThreadPool(n, self.recipe, init, seed)
            else:
                context, prefetch = self.multiprocessing_context, self.prefetch_factor or 1
                pool = ProcessPool(n, self.recipe, init, seed, context, prefetch)
            if self.persistent_workers:
                self._pool = pool
        return pool

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        n = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def state_dict(self) -> dict[str, Any]:
        """Where the latest pass stands, for `load_state_dict`; plain values and small tensors.

        After a ``break`` that is still the middle of the broken pass.
        """
        if self._loaded is not None:
            return self._loaded
        epoch = self._epoch
        if epoch is None or epoch.finished:
            return {"delivered": None, "samplers": sampler_states(self)}
        return epoch.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on, at the next ``iter``, where a loader with the same arguments stood."""
        if "delivered" not in state_dict:
            raise ValueError(
                f"DataLoader.load_state_dict: not a state of a DataLoader: {sorted(state_dict)}"
            )
        if state_dict["delivered"] is None:
            set_sampler_states(self, state_dict["samplers"])
        self._loaded = state_dict
        self._epoch = None


class _BaseDataLoaderIter(Iterator[Any]):
    """One pass over the data."""


class _Here(_BaseDataLoaderIter):
    """Batches made in this process."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch) -> None:
        self.epoch = epoch
        self.fetcher = Fetcher(loader.recipe, epoch.seed, 0, isolate=True)
        if loader.recipe.iterable:
            for _ in range(epoch.delivered):  # the next task is known only after the previous one
                self.fetcher.fetch(0, None)
                next(epoch.tasks)

    def __next__(self) -> Any:
        task = self.epoch.next_task()
        batch = END if task is None else self._fetch(*task)
        if batch is END or task is None:
            self.epoch.finished = True
            raise StopIteration
        self.epoch.deliver(task[0])
        return batch

    def _fetch(self, number: int, indices: Any) -> Any:
        try:
            return self.fetcher.fetch(number, indices)
        except StopIteration as error:  # it would end the loop without a word
            raise RuntimeError(
                "DataLoader: the dataset raised StopIteration for a sample"
            ) from error


class _Workers(_BaseDataLoaderIter):
    """Batches made by workers. Tasks are numbered, and answers put back in order."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch, pool: Pool) -> None:
        self.loader = loader
        self.epoch = epoch
        self.pool = pool
        loader._uses += 1
        self.use = loader._uses
        self.iterable = loader.recipe.iterable
        self.skip = epoch.delivered if self.iterable else 0
        self.active = [True] * loader.num_workers  # iterable datasets end in each worker by itself
        self.load = [0] * loader.num_workers
        self.turn = -1
        self.waiting: dict[int, int] = {}  # number of a task: its worker; in order of the numbers
        self.arrived: dict[int, Answer] = {}
        self.exhausted = False
        for worker in range(loader.num_workers):
            pool.send(worker, Begin(self.use, epoch.seed))
        for _ in range((loader.prefetch_factor or 1) * loader.num_workers):
            self._assign()

    def _assign(self) -> None:
        """Give the next task to the worker whose turn it is."""
        workers = [w for w, active in enumerate(self.active) if active]
        if not workers or self.exhausted:
            return
        task = self.epoch.next_task()
        if task is None:
            self.exhausted = True
            return
        if self.loader.in_order:
            worker = next((w for w in workers if w > self.turn), workers[0])
        else:
            worker = min(workers, key=lambda w: self.load[w])
        self.turn = worker
        number, indices = task
        self.waiting[number] = worker
        self.load[worker] += 1
        self.pool.send(worker, Task(self.use, number, indices))

    def __next__(self) -> Any:
        while True:
            if self.loader._uses != self.use and self.loader.persistent_workers:
                raise RuntimeError(
                    "DataLoader: with persistent_workers a new iter() ends the one before; use "
                    "persistent_workers=False to have several at once"
                )
            if not self.waiting:
                self._finish()
                raise StopIteration
            answer = self._take()
            if answer is None:
                seconds = self.loader.timeout
                del self  # see below
                raise RuntimeError(
                    f"DataLoader timed out after {seconds} seconds; is a worker stuck?"
                )
            self._assign()
            if answer.kind == "end":
                continue
            if self.skip:
                self.skip -= 1
                continue
            if answer.kind == "error":
                failure: Failure = answer.value
                # A traceback that is kept must not keep the workers: they end with the loop, unless
                # somebody holds this iterator, and may go on with it.
                del self, answer
                failure.raise_again()
            if self.iterable:
                self.epoch.delivered += 1
            else:
                self.epoch.deliver(answer.number)
            return answer.value

    def _take(self) -> Answer | None:
        """The answer of the lowest number, or of any if the order does not matter; None if late."""
        first = next(iter(self.waiting))
        deadline = time.monotonic() + self.loader.timeout if self.loader.timeout else None
        while True:
            if self.loader.in_order and first in self.arrived:
                return self._remove(first)
            if not self.loader.in_order and self.arrived:
                return self._remove(next(iter(self.arrived)))
            if not self.pool.stop.alive:
                raise RuntimeError("DataLoader: its workers have ended; begin again with iter()")
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            answer = self.pool.receive(left)
            if answer is None:
                return None
            if answer.epoch == self.use:
                self.arrived[answer.number] = answer

    def _remove(self, number: int) -> Answer:
        answer = self.arrived.pop(number)
        worker = self.waiting.pop(number)
        self.load[worker] -= 1
        if answer.kind == "end":
            self.active[worker] = False
        return answer

    def _finish(self) -> None:
        self.epoch.finished = True
        if not self.loader.persistent_workers:
            self.pool.stop()


def _check_workers(workers: int, timeout: float, prefetch: int | None, persistent: bool) -> None:
    if type(workers) is not int or workers < 0:
        raise ValueError(f"DataLoader: num_workers must be an int from 0, got {workers!r}")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout must not be negative, got {timeout}")
    if prefetch is not None and (workers == 0 or prefetch < 1):
        raise ValueError(
            f"DataLoader: prefetch_factor={prefetch} is how many batches each worker makes ahead; "
            "it must be positive, and num_workers too"
        )
    if persistent and workers == 0:
        raise ValueError("DataLoader: persistent_workers needs num_workers > 0")


def _context(context: Any, workers: int) -> Any:
    if context is None:
        return None
    if workers == 0:
        raise ValueError("DataLoader: multiprocessing_context needs num_workers > 0")
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"DataLoader: multiprocessing_context must be one of {methods}: {context!r}"
            )
        return multiprocessing.get_context(context)
    if not hasattr(context, "Process"):
        raise TypeError(f"DataLoader: not a multiprocessing context: {type(context).__name__}")
    return context


# PyTorch's names of the two kinds of passes.
_SingleProcessDataLoaderIter = _Here
_MultiProcessingDataLoaderIter = _Workers
_collate_fn_t = Callable[[list[Any]], Any]
