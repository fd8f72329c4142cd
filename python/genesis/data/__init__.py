"""Data: datasets, samplers, the loader that makes batches of them, files, and transforms.

`dataset.py` and `sampler.py` say what there is and in which order; `collate.py` and `fetch.py` make
a batch; `worker.py`, `pool.py` and `transfer.py` do so elsewhere; `epoch.py` remembers how far a
pass came; `dataloader.py` holds them together. `files.py` and `text.py` read formats from disk, and
`transforms` changes images.
"""

import importlib
from typing import TYPE_CHECKING, Any

from genesis.data import collate, dataloader, dataset, sampler, worker
from genesis.data.collate import *  # noqa: F403
from genesis.data.dataloader import *  # noqa: F403
from genesis.data.dataset import *  # noqa: F403
from genesis.data.sampler import *  # noqa: F403
from genesis.data.worker import *  # noqa: F403

if TYPE_CHECKING:
    from genesis.data import transforms as transforms
    from genesis.data.files import *  # noqa: F403
    from genesis.data.text import *  # noqa: F403

_LATER = {
    **dict.fromkeys(
        ("CIFAR10", "CIFAR100", "MNIST", "ImageFolder", "read_idx", "read_image"), "files"
    ),
    **dict.fromkeys(("CSVDataset", "CharacterDataset", "TextLines", "TokenDataset"), "text"),
}

__all__ = [
    *collate.__all__,
    *dataloader.__all__,
    *dataset.__all__,
    *sampler.__all__,
    *worker.__all__,
    *_LATER,
    "transforms",
]


def __getattr__(name: str) -> Any:
    if name == "transforms":
        return importlib.import_module("genesis.data.transforms")
    if name in _LATER:
        return getattr(importlib.import_module(f"genesis.data.{_LATER[name]}"), name)
    raise AttributeError(f"module 'genesis.data' has no attribute {name!r}")
