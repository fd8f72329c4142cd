"""Tensors of other libraries, on the same memory."""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor, from_dlpack
from genesis._missing import explain

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """The capsule that another library's ``from_dlpack`` takes."""
    return tensor.__dlpack__()


explain(globals())
