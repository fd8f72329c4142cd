"""What ``genesis.device`` holds as a module; the name itself is the class of devices."""

from __future__ import annotations

from enum import Enum

from genesis._C import device
from genesis._settings import get_default_device as default_device
from genesis._settings import set_default_device

__all__ = [
    "Device",
    "DeviceType",
    "cpu",
    "cuda",
    "default_device",
    "device",
    "set_default_device",
]

Device = device


class DeviceType(str, Enum):
    """Kinds of devices. They equal their names, and so ``device.type``."""

    CPU = "cpu"
    CUDA = "cuda"

    __hash__ = str.__hash__


def cpu() -> device:
    """The CPU.

    >>> cpu()
    device(type='cpu')
    """
    return device("cpu")


def cuda(device_id: int = 0) -> device:
    """A CUDA device. It can be named though this build cannot compute there.

    >>> cuda(1)
    device(type='cuda', index=1)
    """
    return device("cuda") if device_id == 0 else device("cuda", device_id)
