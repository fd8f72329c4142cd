"""GT's names. GT computes on workers behind a server; here the one worker is this process."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from genesis import _C

if TYPE_CHECKING:
    from genesis.client import autograd as autograd
    from genesis.client import nn as nn
    from genesis.client import tensor as tensor

__all__ = ["autograd", "connect", "gpu_workers", "nn", "tensor"]

_SUBMODULES = ("autograd", "nn", "tensor")


def connect(address: str) -> None:
    """Check an address, "host:port", and say that tensors stay in this process.

    There is no server to connect to: a program that was written for one runs here all the same.
    """
    host, colon, port = address.rpartition(":")
    if not host or not colon or not port.isdigit():
        raise ValueError(f"connect: address must be 'host:port', got {address!r}")
    warnings.warn(
        f"connect: no server is used, {address!r} neither; tensors stay in this process",
        stacklevel=2,
    )


def gpu_workers(n: int) -> None:
    """How many workers share the work: here, threads of this process.

    >>> threads = genesis.get_num_threads()
    >>> gpu_workers(2)
    >>> genesis.get_num_threads()
    2
    >>> genesis.set_num_threads(threads)
    """
    if type(n) is not int or n < 1:
        raise ValueError(f"gpu_workers: n must be a positive int, got {n!r}")
    _C.set_num_threads(n)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.client.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
