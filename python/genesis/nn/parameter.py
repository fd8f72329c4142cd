"""Tensors that a model learns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from genesis import _C
from genesis._C import Tensor

if TYPE_CHECKING:
    from typing_extensions import Self


class Parameter(Tensor):
    """A leaf that requires grad. It shares the memory of ``data``.

    Unlike other leaves, it may be updated in place by what is outside the graph:

    >>> w = Parameter(genesis.ones(2))
    >>> (w * 3).sum().backward()
    >>> w -= 0.1 * w.grad
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = _C.empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Parameter: data must be a Tensor, got {type(data).__name__}; use genesis.tensor()"
            )
        return _C._make_subclass(cls, data.detach(), requires_grad, True)

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)
