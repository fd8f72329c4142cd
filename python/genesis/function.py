"""Operations written in Python, and casts of objects that contain tensors."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Context, Tensor
from genesis._pytree import tree_map
from genesis.autograd.function import Function

__all__ = [
    "AccumulateGrad",
    "Context",
    "Function",
    "cast_to_bf16",
    "cast_to_fp16",
    "cast_to_fp32",
]


class AccumulateGrad:
    """Adds gradients to the ``grad`` of a leaf.

    >>> x = genesis.ones(2, requires_grad=True)
    >>> AccumulateGrad(x).apply_grad(genesis.ones(2))
    >>> x.grad
    tensor([1., 1.])
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"AccumulateGrad: expected a Tensor, got {type(tensor).__name__}")
        self.tensor = tensor

    def apply_grad(self, grad: Tensor) -> None:
        """Add ``grad``, which has the shape of the tensor, to the existing gradient."""
        with _C.no_grad():
            grad = self.tensor.apply_hooks(grad.detach())
            self.tensor.grad = grad.clone() if self.tensor.grad is None else self.tensor.grad + grad


def _cast(a: Any, dtype: _C.dtype) -> Any:
    def of(x: Any) -> Any:
        return x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x

    return tree_map(of, a)


def cast_to_fp16(a: Any) -> Any:
    """Floating tensors, also those in lists, tuples and dicts, in float16.

    >>> cast_to_fp16([genesis.ones(1), 2])
    [tensor([1.], dtype=genesis.float16), 2]
    """
    return _cast(a, _C.float16)


def cast_to_fp32(a: Any) -> Any:
    """Floating tensors, also those in lists, tuples and dicts, in float32.

    >>> cast_to_fp32(genesis.ones(1).half()).dtype
    genesis.float32
    """
    return _cast(a, _C.float32)


def cast_to_bf16(a: Any) -> Any:
    """Floating tensors, also those in lists, tuples and dicts, in bfloat16.

    >>> cast_to_bf16(genesis.ones(1)).dtype
    genesis.bfloat16
    """
    return _cast(a, _C.bfloat16)
