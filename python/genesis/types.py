"""Names of types, for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from genesis._C import Size, Tensor, device, dtype, memory_format
from genesis._missing import explain

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_int, _float, _bool, _bytes = builtins.int, builtins.float, builtins.bool, builtins.bytes
_dtype, _device, _size, _layout, _complex = (
    dtype,
    device,
    Size | list[int] | tuple[int, ...],
    Any,
    complex,
)
_symsize = _size
Device: TypeAlias = device | str | int | None
Number: TypeAlias = int | float | bool
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = Any
_ = memory_format

explain(globals())
