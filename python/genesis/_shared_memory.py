"""Memory of tensors that several processes see: ``Tensor.share_memory_()``.

The memory is a file without a name. Processes that are forked later have it mapped already; one
that gets such a tensor through ``multiprocessing`` maps the same file.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn.parameter import Parameter

__all__ = ["is_shared", "share"]


class _Map(mmap.mmap):
    """Mapped memory that knows its file."""

    fd: int


_maps: weakref.WeakValueDictionary[int, _Map] = weakref.WeakValueDictionary()  # by address


def _mapped(fd: int, size: int) -> Tensor:
    """The bytes of a file, as a tensor that keeps the file open."""
    memory = _Map(fd, max(size, 1))
    memory.fd = fd
    weakref.finalize(memory, os.close, fd)
    values = _C.frombuffer(memory, dtype=_C.uint8)
    _maps[values.data_ptr()] = memory
    return values[:size]


def _map_of(x: Tensor) -> _Map | None:
    return None if x.is_meta else _maps.get(_C._whole_storage(x, _C.uint8).data_ptr())


def is_shared(x: Tensor) -> bool:
    """Whether other processes see writes to the memory of ``x``."""
    return bool(_maps) and _map_of(x) is not None


def share(x: Tensor) -> Tensor:
    """Move ``x`` to memory that other processes see."""
    if is_shared(x):
        return x
    if x.is_meta or x._base is not None:
        what = "is on the meta device" if x.is_meta else "is a view"
        raise RuntimeError(
            f"share_memory_: the tensor {what}; call it on a tensor with memory of its own"
        )
    values = x.detach().contiguous()
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("genesis")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, max(values.nbytes, 1))
    shared = _mapped(fd, values.nbytes).view(dtype=values.dtype).reshape(values.shape)
    shared.copy_(values)
    x.data = shared
    return x


def _reduce(x: Tensor) -> Any:
    """How a tensor is sent: in shared memory by its file, else by value."""
    memory = _map_of(x) if _maps else None
    if memory is None or (x.requires_grad and not x.is_leaf):
        return x.__reduce_ex__(5)
    place = (x.dtype, tuple(x.shape), tuple(x.stride()), x.storage_offset())
    return _rebuild, (DupFd(memory.fd), len(memory), type(x), x.requires_grad, *place)


def _rebuild(
    fd: Any,
    size: int,
    cls: type[Tensor],
    requires_grad: bool,
    dtype: _C.dtype,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
) -> Tensor:
    whole = _mapped(fd.detach(), size - size % dtype.itemsize).view(dtype=dtype)
    return _C._make_subclass(
        cls, whole.as_strided(shape, stride, offset), requires_grad, issubclass(cls, Parameter)
    )


ForkingPickler.register(Tensor, _reduce)
ForkingPickler.register(Parameter, _reduce)
