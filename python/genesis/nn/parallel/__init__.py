"""Modules on several devices. There is one device here, the CPU."""

from genesis._missing import explain
from genesis.nn.parallel import scatter_gather
from genesis.nn.parallel.data_parallel import DataParallel, data_parallel
from genesis.nn.parallel.distributed import DistributedDataParallel
from genesis.nn.parallel.parallel_apply import parallel_apply
from genesis.nn.parallel.replicate import replicate
from genesis.nn.parallel.scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    "scatter_gather",
]

explain(globals())
