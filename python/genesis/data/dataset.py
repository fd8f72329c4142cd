"""Datasets: sources of samples."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from genesis import _C
from genesis._C import Generator, Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Samples by number. A subclass defines ``__getitem__``, and ``__len__`` for most uses.

    It may define ``__getitems__(indices)`` too, which loads the samples of a batch at once.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> (Squares() + Squares())[6]
    4
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other. A subclass defines ``__iter__``.

    With workers each has its own copy and would yield everything: take a share in ``__iter__`` with
    `get_worker_info`.

    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(Count())
    [0, 1, 2]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors of the same length: sample i is ``(t[i] for t in tensors)``.

    >>> TensorDataset(genesis.arange(3), genesis.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [t.shape[0] if t.ndim else None for t in tensors]
        if not tensors or sizes != [sizes[0]] * len(sizes) or sizes[0] is None:
            shapes = [tuple(t.shape) for t in tensors]
            raise ValueError(
                f"TensorDataset: expected tensors of one length, got shapes {shapes}; "
                "cut them to the same first dimension"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Several datasets of the same length side by side: a tuple of samples, or a dict by keyword.

    >>> StackDataset(image=[1, 2], label=["a", "b"])[1]
    {'image': 2, 'label': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "StackDataset: pass datasets by position or by keyword, one of the two; got "
                f"{len(args)} and {len(kwargs)}"
            )
        self.datasets: Any = args or kwargs
        self._parts = list(args or kwargs.values())
        sizes = [len(d) for d in self._parts]
        if sizes != [sizes[0]] * len(sizes):
            raise ValueError(f"StackDataset: the datasets differ in length: {sizes}")

    def _arrange(self, samples: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, samples, strict=True))
        return tuple(samples)

    def __getitem__(self, index: Any) -> Any:
        return self._arrange(d[index] for d in self._parts)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        columns = [_samples(d, indices) for d in self._parts]
        return [self._arrange(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return len(self._parts[0])


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other, as one.

    >>> ConcatDataset([[1, 2], [3]])[2]
    3
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: there are no datasets")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise TypeError("ConcatDataset: an IterableDataset has no indices; use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if not -len(self) <= index < len(self):
            raise IndexError(f"ConcatDataset: index {index} is out of range for length {len(self)}")
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[which - 1] if which else 0
        sample: T_co = self.datasets[which][index - start]
        return sample


class ChainDataset(IterableDataset[T_co]):
    """Iterable datasets one after the other, as one.

    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(
                    f"ChainDataset: expected IterableDatasets, got {type(dataset).__name__}; use "
                    "ConcatDataset for datasets with indices"
                )
            yield from dataset

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    >>> Subset("abc", [2, 0])[0]
    'c'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[T_co]:
        found: list[T_co] = _samples(self.dataset, [self.indices[i] for i in indices])
        return found

    def __len__(self) -> int:
        return len(self.indices)


def _samples(dataset: Any, indices: Sequence[int]) -> Any:
    if callable(getattr(dataset, "__getitems__", None)):
        found = dataset.__getitems__(list(indices))
        if not isinstance(found, (list, tuple)):
            return found  # a batch already; collate_fn handles it
        if len(found) != len(indices):
            raise ValueError(
                f"{type(dataset).__name__}.__getitems__ returned {len(found)} samples for "
                f"{len(indices)} indices"
            )
        return list(found)
    return [dataset[i] for i in indices]


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Split a dataset at random into parts of the given lengths, or fractions that sum to 1.

    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)
    sizes = [int(n) for n in lengths]
    fractions = math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9
    if fractions:
        for fraction in lengths:
            if not 0 <= fraction <= 1:
                raise ValueError(f"random_split: a fraction must be in 0..1, got {fraction}")
        sizes = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(sizes)):  # distribute the remainder
            sizes[i % len(sizes)] += 1
        for i, n in enumerate(sizes):
            if n == 0:
                warnings.warn(
                    f"random_split: part {i} of {total} samples is empty", UserWarning, stacklevel=2
                )
    if sum(sizes) != total or min(sizes, default=0) < 0 or not (fractions or sizes == [*lengths]):
        raise ValueError(
            f"random_split: lengths {list(lengths)} do not sum to the {total} samples of the "
            "dataset; pass numbers of samples, or fractions that sum to 1"
        )
    order = _C.randperm(total, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, sizes, strict=True)]
