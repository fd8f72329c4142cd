"""Data pipes, which PyTorch has deprecated: names that packages look for."""

from __future__ import annotations

from typing import Any

from genesis.data.dataset import Dataset, IterableDataset
from genesis.torch.compat.utils.data.dataloader import _DatasetKind as _DatasetKind

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]


class IterDataPipe(IterableDataset[Any]):
    """A stream of samples."""


class MapDataPipe(Dataset[Any]):
    """Samples by their keys."""


class functional_datapipe:
    """A decorator that makes a pipe a method of pipes: ``@functional_datapipe("name")``."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: type[Any]) -> type[Any]:
        def method(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls(source, *args, **kwargs)

        base = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        setattr(base, self.name, method)
        return cls


class DFIterDataPipe(IterDataPipe):
    """A stream of tables."""
