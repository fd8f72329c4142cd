"""Optimizers whose state is divided among the ranks."""

from genesis._missing import explain
from genesis.distributed.optim.zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

explain(globals())
