"""Data: datasets, samplers, and the loader that makes batches of them.

`dataset.py` and `sampler.py` say what there is and in which order; `collate.py` and `fetch.py` make
a batch; `worker.py`, `pool.py` and `transfer.py` do so elsewhere; `epoch.py` remembers how far a
pass came; `dataloader.py` holds them together.
"""

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
