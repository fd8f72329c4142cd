"""What Tensor can do as a Python object: copy, pickle, format. Attached to the native type.

These are Python's protocols, called seldom; everything on the way of a computation is native.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor

# Names of the native module that are shown elsewhere (genesis.autograd), or only used inside.
NOT_PUBLIC: set[str] = {"Context", "Node", "OutsideGraphWarning", "RemovableHandle", "op_info"}


def _require_leaf(x: Tensor, what: str) -> None:
    if not x.is_leaf:
        raise RuntimeError(
            f"{what}: a tensor of shape {tuple(x.shape)} made by {x.grad_fn} cannot be copied with "
            "its graph; only leaves can. Use x.detach(), or x.clone() to stay in the graph"
        )


def _same_kind(x: Tensor, data: Tensor) -> Tensor:
    """`data` as a tensor of the class of `x`, requiring grad if `x` does."""
    return _C._make_subclass(type(x), data, x.requires_grad, x._is_parameter())


def _copy(self: Tensor) -> Tensor:
    _require_leaf(self, "copy")
    twin = _same_kind(self, self.detach())
    twin.grad = self.grad
    twin.__dict__.update(self.__dict__)
    return twin


def _copied_memory(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """The values of `x` in new memory: what shares memory with it shares that of its copy."""
    base = x._base
    if base is None or not base.is_leaf or base.dtype != x.dtype:
        return x.detach().clone()
    copied = copy.deepcopy(base, memo).detach()
    offset = x.storage_offset() - base.storage_offset()
    if offset < 0 or tuple(copied.stride()) != tuple(base.stride()):
        return x.detach().clone()
    place = copied.storage_offset() + offset
    return copied.as_strided(tuple(x.shape), tuple(x.stride()), place)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    _require_leaf(self, "deepcopy")
    twin = _same_kind(self, _copied_memory(self, memo))
    memo[id(self)] = twin
    if self.grad is not None:
        twin.grad = copy.deepcopy(self.grad.detach(), memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return twin


def _rebuild(
    cls: type[Tensor],
    dtype: _C.dtype,
    shape: tuple[int, ...],
    data: Any,
    requires_grad: bool,
    parameter: bool,
    attributes: dict[str, Any],
) -> Tensor:
    memory = memoryview(data)
    if memory.readonly or not memory.nbytes:  # memory of no bytes may lie anywhere
        values = _C._from_bytes(bytes(memory), dtype, shape)
    else:  # memory that the pickle brought along, or that lies beside it (protocol 5)
        values = _C.frombuffer(memory, dtype=dtype).reshape(shape)
    tensor = _C._make_subclass(cls, values, requires_grad, parameter)
    tensor.__dict__.update(attributes)
    return tensor


def _reduce_ex(self: Tensor, protocol: int) -> tuple[Any, ...]:
    # The values only: a view is saved without the memory around it, and the graph stays behind.
    data: Any
    if protocol >= 5:  # who wants to can pass the memory on without a copy
        flat = self.detach().contiguous().reshape(-1)
        data = pickle.PickleBuffer(flat.view(dtype=_C.uint8))
    else:
        data = _C._to_bytes(self)
    state = (
        type(self), self.dtype, tuple(self.shape), data, self.requires_grad,
        self._is_parameter(), self.__dict__,
    )  # fmt: skip
    return _rebuild, state


def _format(self: Tensor, spec: str) -> str:
    if self.ndim == 0:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def _reversed(self: Tensor) -> Tensor:
    return self.flip(0) if self.ndim else self


def _repr_html(self: Tensor) -> str:
    from genesis import _notebook

    return _notebook.tensor_html(self)


def _cuda(self: Tensor, device: Any = None) -> Tensor:
    """The tensor on a CUDA device. This build has none: the error says what to do instead."""
    return self.to("cuda" if device is None else device)


_METHODS: dict[str, Callable[..., Any]] = {
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce_ex,
    "__format__": _format,
    "__reversed__": _reversed,
    "_repr_html_": _repr_html,
    "cuda": _cuda,
}
for _name, _method in _METHODS.items():
    if _name in vars(Tensor):
        raise ImportError(f"genesis.Tensor.{_name} is bound twice")
    _method.__name__ = _name
    _method.__qualname__ = f"Tensor.{_name}"
    setattr(Tensor, _name, _method)

# NumPy's arrays and scalars leave the operators to us: array + tensor is what tensor + array is.
setattr(Tensor, "__array_ufunc__", None)  # noqa: B010
setattr(Tensor, "__array_priority__", 1000.0)  # noqa: B010
