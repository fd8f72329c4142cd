"""Layer norm as one operation."""

from genesis._C import Tensor
from genesis.nn import functional as F

__all__ = ["fused_layer_norm"]


def fused_layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float = 1e-6) -> Tensor:
    """Mean 0 and variance 1 over the dimensions of ``weight``, then ``* weight + bias``.

    >>> fused_layer_norm(genesis.tensor([1.0, 3.0]), genesis.ones(2), genesis.zeros(2))
    tensor([-1.0000,  1.0000])
    """
    return F.layer_norm(x, tuple(weight.shape), weight, bias, eps)
