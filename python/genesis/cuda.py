"""CUDA devices: this build has none. Code that asks first gets an honest answer.

The module can be called: ``genesis.cuda()`` names a device, whether or not there is one.
"""

from __future__ import annotations

import sys
from types import ModuleType

from genesis._C import device

__all__ = ["device_count", "is_available"]


def is_available() -> bool:
    """Whether tensors can live on a CUDA device: no."""
    return False


def device_count() -> int:
    """How many CUDA devices there are for us: none."""
    return 0


class _CallableModule(ModuleType):
    def __call__(self, device_id: int = 0) -> device:
        return device("cuda") if device_id == 0 else device("cuda", device_id)


sys.modules[__name__].__class__ = _CallableModule
