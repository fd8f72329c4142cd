"""Variable: what tensors inside a graph were called before they were all tensors."""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor

__all__ = ["Variable"]


class _VariableType(type):
    def __call__(cls, data: Any, requires_grad: bool = False) -> Tensor:
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable: data must be a Tensor, got {type(data).__name__}; use genesis.tensor()"
            )
        return data.detach().requires_grad_(requires_grad)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_VariableType):
    """``Variable(x, requires_grad=True)`` is a leaf on the memory of ``x``. All tensors are one.

    >>> Variable(genesis.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(genesis.ones(2), Variable)
    True
    """
