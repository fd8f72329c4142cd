"""Functions of tensors, those of ``nn.functional`` among them.

``triu`` and ``tril`` take the diagonal as ``k`` too, and ``arange`` takes its bounds by position.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import (
    Tensor,
    argsort,
    bincount,
    eq,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    le,
    lt,
    ne,
    nonzero,
)
from genesis._lowrank import pca_lowrank, svd_lowrank
from genesis._missing import MissingName
from genesis._numeric import unravel_index
from genesis._tensor import allclose

__all__ = [
    "allclose",
    "arange",
    "argsort",
    "bincount",
    "empty",
    "eq",
    "ge",
    "gt",
    "is_storage",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "lt",
    "ne",
    "nonzero",
    "pca_lowrank",
    "svd_lowrank",
    "tril",
    "triu",
    "typename",
    "unravel_index",
]


def triu(a: Tensor, k: int = 0, device: Any = None) -> Tensor:
    """The elements on and above the k-th diagonal, zeros elsewhere.

    >>> triu(genesis.ones(2, 2), k=1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    return _C.triu(a if device is None else a.to(device), k)


def tril(a: Tensor, k: int = 0, device: Any = None) -> Tensor:
    """The elements on and below the k-th diagonal, zeros elsewhere.

    >>> tril(genesis.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _C.tril(a if device is None else a.to(device), k)


def empty(
    *shape: Any, device: Any = None, dtype: Any = _C.float32, requires_grad: bool = False
) -> Tensor:
    """A tensor of uninitialized memory.

    >>> empty(2, 3).shape
    genesis.Size([2, 3])
    """
    return _C.empty(*shape, device=device, dtype=dtype, requires_grad=requires_grad)


def arange(*args: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``arange(end)``, ``arange(start, end)`` or ``arange(start, end, step)``.

    >>> arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if not 1 <= len(args) <= 3:
        raise TypeError(f"arange: expected 1 to 3 numbers, got {len(args)}")
    return _C.arange(*args, dtype=dtype, device=device)


def typename(obj: Any, /) -> str:
    """The full name of the type of an object, or that of a tensor's kind.

    >>> genesis.typename(1)
    'int'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    module = getattr(type(obj), "__module__", "")
    plain = not module or module == "builtins"
    return type(obj).__qualname__ if plain else f"{module}.{type(obj).__qualname__}"


def is_storage(obj: Any, /) -> builtins.bool:
    """Whether this is the memory of a tensor."""
    from genesis.storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from genesis.nn import functional

        try:
            return getattr(functional, name)
        except AttributeError:
            raise MissingName(__name__, name) from None
