"""Tensors without values: there are none."""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


class FakeTensor(Tensor):
    """A tensor without values; no tensor is one."""


class FakeTensorMode:
    """A block whose tensors have no values; raises, use the meta device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError('FakeTensorMode: Genesis has no such mode; use device="meta"')


def is_fake(x: Any) -> bool:
    """Whether a tensor has no values: no."""
    return False
