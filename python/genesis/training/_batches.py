"""Data for training: what `fit` accepts, as batches that can be resumed and shared by ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from genesis import _C, _pytree
from genesis._C import Tensor
from genesis.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)
from genesis.training._job import Job
from genesis.utils import random_state


def loader(name: str, data: Any, batch_size: int, training: bool, job: Job) -> Any:
    """An iterable of batches from the argument ``name``."""
    if isinstance(data, tuple) and data and all(_is_array(x) for x in data):
        data = TensorDataset(*(x if isinstance(x, Tensor) else _C.from_numpy(x) for x in data))
    if isinstance(data, Dataset):
        shuffle = training and not isinstance(data, IterableDataset)
        data = DataLoader(data, batch_size, shuffle=shuffle)
    if isinstance(data, (Tensor, str, Mapping)) or not isinstance(data, Iterable):
        raise TypeError(
            f"fit: {name} must be a DataLoader, a Dataset, a tuple of tensors such as (x, y), or "
            f"an iterable of batches, got {type(data).__name__}"
        )
    if isinstance(data, Iterator):
        raise TypeError(
            f"fit: {name} is an iterator ({type(data).__name__}), which ends after one pass; pass "
            "what makes it: a DataLoader, a Dataset or a list of batches"
        )
    if isinstance(data, DataLoader):
        return _shared(data, training, job) if job.size > 1 else data
    return data if hasattr(data, "state_dict") else Batches(data)


def _is_array(x: Any) -> bool:
    return isinstance(x, Tensor) or (type(x).__module__ == "numpy" and hasattr(x, "shape"))


def length(batches: Any) -> int | None:
    """How many batches a pass has, if that is known."""
    try:
        return len(batches)
    except TypeError:
        return None


def set_epoch(batches: Any, epoch: int) -> None:
    """Tell samplers that order by epoch which one begins."""
    parts = [batches, *(getattr(batches, name, None) for name in ("sampler", "batch_sampler"))]
    for part in parts:
        if callable(getattr(part, "set_epoch", None)):
            part.set_epoch(epoch)


def size(batch: Any) -> int:
    """The number of samples of a batch: the length of its first tensor."""
    for leaf in _pytree.tree_leaves(batch):
        if isinstance(leaf, Tensor) and leaf.ndim:
            return int(leaf.shape[0])
    return 1


def split(batch: Any) -> tuple[tuple[Any, ...], Any]:
    """The inputs of the model, and the target of the loss."""
    if isinstance(batch, (tuple, list)) and len(batch) >= 2:
        return tuple(batch[:-1]), batch[-1]
    kind = type(batch).__name__
    count = f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""
    raise TypeError(
        f"fit: expected batches (input, ..., target), got a {kind}{count}; pass "
        "step=function(model, batch) that returns the loss for other batches"
    )


class Batches:
    """An iterable of batches that can resume in the middle of a pass: it skips what was done.

    The random state at the start of the pass is restored for that, so that an order that is drawn
    at the start is drawn again.
    """

    def __init__(self, data: Iterable[Any]) -> None:
        self.data: Any = data
        self.done: int | None = None  # None: no pass is under way
        self._start: dict[str, Any] | None = None
        self._skip = 0

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        skip, self._skip = self._skip, 0
        if skip and self._start is not None:
            now = random_state.capture()
            random_state.restore(self._start)
            batches = iter(self.data)
            for _ in range(skip):
                next(batches)
            random_state.restore(now)
        else:
            self._start = random_state.capture()
            batches = iter(self.data)
        self.done = skip
        for batch in batches:
            self.done += 1
            yield batch
        self.done = None

    def state_dict(self) -> dict[str, Any]:
        if self.done is None:
            return {"done": None, "start": None}
        return {"done": self.done, "start": self._start}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.done, self._start = state["done"], state["start"]
        self._skip = self.done or 0


def _shared(loader: DataLoader[Any], training: bool, job: Job) -> DataLoader[Any]:
    """A loader with the share of this rank, where the loader does not see to that itself."""
    if isinstance(loader.dataset, IterableDataset):
        return loader  # shares itself out
    plain = type(loader.sampler) in (RandomSampler, SequentialSampler)
    if loader.batch_size is None or type(loader.batch_sampler) is not BatchSampler or not plain:
        return loader
    shuffle = isinstance(loader.sampler, RandomSampler)
    sampler: Any
    if training:
        seed = job.from_first(int(_C.initial_seed()))
        sampler = DistributedSampler(
            loader.dataset, job.size, job.rank, shuffle=shuffle, seed=seed % 2**31,
            drop_last=loader.drop_last,
        )  # fmt: skip
    else:  # every sample once: the ranks may have different numbers of them
        sampler = range(job.rank, len(loader.dataset), job.size)
    names = ("batch_size", "drop_last", "num_workers", "collate_fn", "pin_memory", "timeout",
             "worker_init_fn", "multiprocessing_context", "generator", "prefetch_factor",
             "persistent_workers", "in_order", "worker_type")  # fmt: skip
    options = {name: getattr(loader, name) for name in names}
    return DataLoader(loader.dataset, sampler=sampler, **options)
