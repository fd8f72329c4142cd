"""Private names of ``torch.utils.data.dataloader``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis.data.worker import get_worker_info

__all__ = ["get_worker_info"]

_worker_init_fn_t = Callable[[int], None]


class _DatasetKind:
    """How samples are taken from a dataset."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> Any:
        """What makes batches of a dataset."""
        return _Fetcher(kind, dataset, auto_collation, collate_fn, drop_last)


class _Fetcher:
    def __init__(
        self, kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> None:
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last
        self.dataset_iter = iter(dataset) if kind == _DatasetKind.Iterable else None
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        """The batch of these indices, of a stream the next one."""
        if self.dataset_iter is not None:
            return self.collate_fn(self._next(possibly_batched_index))
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(possibly_batched_index))
        return self.collate_fn([self.dataset[i] for i in possibly_batched_index])

    def _next(self, index: Any) -> Any:
        assert self.dataset_iter is not None
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return next(self.dataset_iter)
        data = []
        for _ in index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(index)):
            raise StopIteration
        return data
