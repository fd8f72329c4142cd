"""Fusion of a batch norm in eval mode with the layer before it."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import name_errors
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

M = TypeVar("M", bound=Module)


def _fuse(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    gamma: Tensor | None,
    beta: Tensor | None,
    dim: int,
) -> tuple[Parameter, Parameter]:
    scale = _C.rsqrt(var + eps)
    if gamma is not None:
        scale = scale * gamma
    shift = (0 if bias is None else bias) - mean
    shape = [-1 if d == dim else 1 for d in range(weight.ndim)]
    new_bias = shift * scale + (0 if beta is None else beta)
    return (
        Parameter((weight * scale.reshape(shape)).detach(), weight.requires_grad),
        Parameter(new_bias.detach(), weight.requires_grad if bias is None else bias.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a convolution fused with a batch norm.

    >>> one = genesis.ones(2)
    >>> w, b = fuse_conv_bn_weights(genesis.ones(2, 3, 1, 1), None, one, one, 0.0, one, one)
    >>> b.tolist()
    [0.0, 0.0]
    """
    return _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a linear layer fused with a batch norm.

    >>> one = genesis.ones(2)
    >>> w, b = fuse_linear_bn_weights(genesis.ones(2, 3), None, one, one, 0.0, one, one)
    >>> b.tolist()
    [0.0, 0.0]
    """
    return _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fused_copy(name: str, layer: M, bn: Any, dim: int) -> M:
    if layer.training or bn.training:
        raise ValueError(f"{name}: only modules in eval mode can be fused; call eval() first")
    if bn.running_mean is None:
        raise ValueError(f"{name}: the batch norm has no running statistics")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = _fuse(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, dim
    )
    return fused


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """A convolution equivalent to ``conv`` followed by ``bn``, both in eval mode.

    >>> fuse_conv_bn_eval.__name__
    'fuse_conv_bn_eval'
    """
    return _fused_copy("fuse_conv_bn_eval", conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """A linear layer equivalent to ``linear`` followed by ``bn``, both in eval mode.

    >>> fuse_linear_bn_eval.__name__
    'fuse_linear_bn_eval'
    """
    return _fused_copy("fuse_linear_bn_eval", linear, bn, 0)


name_errors(__all__, globals())
