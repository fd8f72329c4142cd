"""Affine maps."""

from __future__ import annotations

from genesis import _C
from genesis._C import Tensor

__all__ = ["bilinear"]


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x1 @ weight[k] @ x2 + bias[k]`` for every k.

    >>> bilinear(genesis.ones(4, 2), genesis.ones(4, 3), genesis.ones(5, 2, 3)).shape
    genesis.Size([4, 5])
    """
    if weight.ndim != 3:
        raise _C.ShapeError(
            f"bilinear: weight must be (out, in1, in2), got shape {tuple(weight.shape)}"
        )
    sizes = (*input1.shape[:-1], *weight.shape[1:])
    if (*input2.shape[:-1], *input1.shape[-1:], *input2.shape[-1:]) != sizes:
        raise _C.ShapeError(
            f"bilinear: input1 {tuple(input1.shape)} and input2 {tuple(input2.shape)} must be "
            f"equal but for the last dimension, which weight {tuple(weight.shape)} wants to be "
            f"{weight.shape[1]} and {weight.shape[2]}"
        )
    outputs, in1, in2 = weight.shape
    rows = _C.matmul(input1.reshape(-1, in1), weight.permute(1, 0, 2).reshape(in1, outputs * in2))
    products = rows.reshape(-1, outputs, in2) * input2.reshape(-1, 1, in2)
    y = products.sum(-1, dtype=products.dtype).reshape(*input1.shape[:-1], outputs)
    return y if bias is None else y + bias
