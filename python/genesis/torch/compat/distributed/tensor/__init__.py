"""Tensors that lie in several processes: there are none."""

from __future__ import annotations

from typing import Any, NoReturn

from genesis._C import Tensor

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor"]


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"{what}: Genesis has no tensors that lie in several processes")


class DTensor(Tensor):
    """A tensor in several processes; no tensor is one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> DTensor:
        _refuse("DTensor")


class Placement:
    """How a tensor lies in several processes."""


class Shard(Placement):
    """In parts along one dimension."""

    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate(Placement):
    """Whole in each process."""


class Partial(Placement):
    """As summands."""


def distribute_tensor(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Raises: there are no such tensors."""
    _refuse("distribute_tensor")


def distribute_module(module: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises: there are no such tensors."""
    _refuse("distribute_module")
