"""Optimizers that share their state among processes."""

from __future__ import annotations

from typing import Any

from genesis.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """Raises: there is no such optimizer here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ZeroRedundancyOptimizer: Genesis does not share optimizer states")
