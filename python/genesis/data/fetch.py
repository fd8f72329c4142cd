"""How the samples of a batch are taken from a dataset and put together."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.data.collate import default_collate, default_convert
from genesis.data.dataset import (
    ConcatDataset,
    StackDataset,
    Subset,
    TensorDataset,
    _samples,
)
from genesis.utils import random_state

END = object()


@dataclass
class Recipe:
    """The configuration of a loader, without the order; sent to the workers."""

    dataset: Any
    iterable: bool
    batched: bool
    collate_fn: Callable[[Any], Any]
    batch_size: int | None
    drop_last: bool


class Fetcher:
    """Makes the batches of one epoch. Random draws while a batch is made have a seed of their own:
    they depend on the seed of the epoch and on which batch it is, not on who makes it.

    ``isolate`` puts the generators of the process back after each batch, which is needed where
    training runs in the same process. Threads cannot have seeds of their own (``seeding=False``).
    """

    def __init__(
        self, recipe: Recipe, seed: int, worker: int, isolate: bool, seeding: bool = True
    ) -> None:
        self.recipe = recipe
        self.seed = seed
        self.worker = worker
        self.isolate = isolate
        self.rows = _rows(recipe)
        draws = recipe.collate_fn not in (default_collate, default_convert)
        self.seeding = seeding and (draws or not _is_plain(recipe.dataset))
        self.count = 0
        self.samples: Any = None
        if recipe.iterable:
            self.samples = self._run(
                random_state.derive(seed, worker), lambda: iter(recipe.dataset)
            )

    def _run(self, seed: int, make: Callable[[], Any]) -> Any:
        if not self.seeding:
            return make()
        if self.isolate:
            with random_state.seeded(seed):
                return make()
        random_state.seed(seed)
        return make()

    def fetch(self, number: int, indices: Any) -> Any:
        """Batch ``number`` of the epoch, or END."""
        recipe = self.recipe
        if recipe.iterable:
            self.count += 1
            seed = random_state.derive(self.seed, self.worker, self.count)
            return self._run(seed, self._take)
        if self.rows is not None:
            return self.rows(indices)
        return self._run(random_state.derive(self.seed, number), lambda: self._collect(indices))

    def _collect(self, indices: Any) -> Any:
        dataset = self.recipe.dataset
        samples = _samples(dataset, indices) if self.recipe.batched else dataset[indices]
        return self.recipe.collate_fn(samples)

    def _take(self) -> Any:
        recipe = self.recipe
        if not recipe.batched:
            sample = next(self.samples, END)
            return END if sample is END else recipe.collate_fn(sample)
        samples = list(itertools.islice(self.samples, recipe.batch_size))
        short = len(samples) < (recipe.batch_size or 0)
        if not samples or (short and recipe.drop_last):
            return END
        return recipe.collate_fn(samples)


def _is_plain(dataset: Any) -> bool:
    """Whether samples are only looked up, so that no seed is needed; setting one takes its time."""
    if type(dataset) in (ConcatDataset, StackDataset):
        parts = dataset.datasets
        return all(map(_is_plain, parts.values() if isinstance(parts, dict) else parts))
    if type(dataset) is Subset:
        return _is_plain(dataset.dataset)
    return type(dataset) in (TensorDataset, Tensor, list, tuple, range, str, dict)


def _rows(recipe: Recipe) -> Callable[[Any], Any] | None:
    """Batches of plain tensors need no samples: rows are gathered at once, with the same result."""
    dataset, through = recipe.dataset, []
    while type(dataset) is Subset:
        through.append(dataset.indices)
        dataset = dataset.dataset
    plain = type(dataset) is TensorDataset and all(type(t) is Tensor for t in dataset.tensors)
    if not plain or not recipe.batched or recipe.collate_fn is not default_collate:
        return None

    def rows(indices: Any) -> list[Tensor]:
        for subset in through:
            indices = [subset[i] for i in indices]
        where = _C.tensor(indices, dtype=_C.int64)
        return [t[where] for t in dataset.tensors]

    return rows
