"""Small functions that packages take from ``torch._utils``."""

from __future__ import annotations

import sys
import traceback
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import genesis
from genesis._C import Tensor

__all__ = [
    "ExceptionWrapper",
    "_flatten_dense_tensors",
    "_get_device_index",
    "_take_tensors",
    "_unflatten_dense_tensors",
]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one vector."""
    return genesis.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Parts of a vector in the shapes of these tensors."""
    parts = flat.split([t.numel() for t in tensors])
    return tuple(p.view(t.shape) for p, t in zip(parts, tensors, strict=True))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterable[list[Tensor]]:
    """Groups of tensors of one dtype, each of at most ``size_limit`` bytes."""
    groups: dict[Any, list[Tensor]] = defaultdict(list)
    sizes: dict[Any, int] = defaultdict(int)
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        if groups[tensor.dtype] and sizes[tensor.dtype] + size > size_limit:
            yield groups.pop(tensor.dtype)
            sizes[tensor.dtype] = 0
        groups[tensor.dtype].append(tensor)
        sizes[tensor.dtype] += size
    yield from (group for group in groups.values() if group)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    return genesis.nn.Parameter(data, requires_grad)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
    backward_hooks: OrderedDict[Any, Any], metadata: Any = None,
) -> Tensor:  # fmt: skip
    flat = getattr(storage, "_values", storage)
    tensor: Tensor = flat.as_strided(size, stride, storage_offset)
    return tensor.requires_grad_(requires_grad)


# Pickles name them by the module that readers look in.
_rebuild_parameter.__module__ = _rebuild_tensor_v2.__module__ = "torch._utils"


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    if isinstance(device, int):
        return device
    if allow_cpu or optional:
        return -1
    raise ValueError(f"_get_device_index: there are no devices with an index, got {device!r}")


class KeyErrorMessage(str):
    """A message that a KeyError shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception of another thread or process, to be raised here."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info = exc_info or sys.exc_info()
        self.exc_type: Any = info[0]
        self.exc_msg = "".join(traceback.format_exception(*info))
        self.where = where

    def reraise(self) -> None:
        """Raise it, with the traceback of its origin in the message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        try:
            exception = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise exception
