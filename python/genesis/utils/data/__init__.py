"""PyTorch's name for the datasets, samplers and loaders of `genesis.data`."""

from genesis._missing import explain
from genesis.data import collate, dataloader, dataset, sampler, worker
from genesis.data.collate import *  # noqa: F403
from genesis.data.dataloader import *  # noqa: F403
from genesis.data.dataset import *  # noqa: F403
from genesis.data.sampler import *  # noqa: F403
from genesis.data.worker import *  # noqa: F403

__all__ = [
    *collate.__all__,
    *dataloader.__all__,
    *dataset.__all__,
    *sampler.__all__,
    *worker.__all__,
]

explain(globals())
