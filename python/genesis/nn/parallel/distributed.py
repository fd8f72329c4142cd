"""A module in several processes: the class that ``genesis.distributed`` has, where it has one."""

from __future__ import annotations

from typing import Any

from genesis import distributed
from genesis.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]

DistributedDataParallel: Any = getattr(distributed, "DistributedDataParallel", None)

if DistributedDataParallel is None:

    class _Unavailable(Module):
        """A module whose gradients are averaged over processes. Raises: there is one process."""

        def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
            raise RuntimeError(
                "DistributedDataParallel: distributed.is_available() is False in this build; train "
                "the module itself in one process"
            )

    _Unavailable.__name__ = _Unavailable.__qualname__ = "DistributedDataParallel"
    DistributedDataParallel = _Unavailable
