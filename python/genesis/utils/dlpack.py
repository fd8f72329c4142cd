"""Exchange of tensors with other libraries without copies (DLPack)."""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor, from_dlpack
from genesis._missing import explain

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor, for ``from_dlpack`` of another library."""
    return tensor.__dlpack__()


explain(globals())
