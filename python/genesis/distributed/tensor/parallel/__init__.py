"""Layers that are divided among ranks: tensor parallelism."""

from genesis._missing import explain
from genesis.distributed.tensor.parallel._apply import parallelize_module
from genesis.distributed.tensor.parallel._styles import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "parallelize_module",
]

explain(globals())
