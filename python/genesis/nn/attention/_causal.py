"""Attention with the defaults of decoders: each query sees the keys up to its own place."""

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.functional.tensors import fused_attention

__all__ = ["fused_attention", "scaled_dot_product_attention"]


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = True) -> Tensor:
    """``softmax(q @ k.mT / sqrt(dim)) @ v``, causal by default.

    >>> q = genesis.zeros(1, 1, 2, 4)
    >>> scaled_dot_product_attention(q, q, genesis.tensor([[[[1.0], [2.0]]]]))
    tensor([[[[1.0000],
              [1.5000]]]])
    """
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
