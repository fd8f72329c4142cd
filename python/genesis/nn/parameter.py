"""Tensors that belong to a model: those that it learns, and those that it only carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis._missing import MissingName

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Buffer", "Parameter"]


def _require_tensor(name: str, data: object) -> Tensor:
    if isinstance(data, Tensor):
        if type(data) is not Tensor and hasattr(data, "_stored"):
            raise TypeError(
                f"{name}: data must be dense, got layout {data.layout}; use data.to_dense()"
            )
        return data
    if hasattr(data, "__array__"):  # a NumPy array, converted as genesis.tensor() does
        return _C.tensor(data)
    raise TypeError(
        f"{name}: data must be a Tensor, got {type(data).__name__}; use genesis.tensor()"
    )


class Parameter(Tensor):
    """A leaf that requires grad. It shares the memory of ``data``, if that is a tensor.

    As an attribute of a module it is one of the module's ``parameters()``. Unlike other leaves, it
    may be updated in place by what is outside the graph:

    >>> w = Parameter(genesis.ones(2))
    >>> (w * 3).sum().backward()
    >>> w -= 0.1 * w.grad
    """

    __torch_function__ = _C._disabled_torch_function_impl  # results are plain tensors

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        data = _require_tensor("Parameter", _C.empty(0) if data is None else data)
        return _C._make_subclass(cls, data.detach(), requires_grad, True)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)


class Buffer(Tensor):
    """A tensor that, as an attribute of a module, is one of its ``buffers()``.

    It is saved in the ``state_dict`` if ``persistent``. It shares the memory of ``data``.

    >>> class Counter(genesis.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.count = Buffer(genesis.zeros(1))
    >>> list(Counter().state_dict())
    ['count']
    """

    persistent: bool
    __torch_function__ = _C._disabled_torch_function_impl  # results are plain tensors

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = _C.empty(0)
        buffer = _C._make_subclass(cls, _require_tensor("Buffer", data).detach(), False, False)
        buffer.persistent = persistent
        return buffer


def __getattr__(name: str) -> Any:
    if not name.startswith("Uninitialized") and name != "is_lazy":
        raise MissingName(__name__, name)
    from genesis.nn import uninitialized  # only lazy modules need it

    if name not in vars(uninitialized):
        raise MissingName(__name__, name)
    return getattr(uninitialized, name)
