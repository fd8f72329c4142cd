"""Norms and distances of vectors."""

from __future__ import annotations

from genesis import _C
from genesis._C import Tensor, pdist
from genesis._dtype_info import require_real

__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``; shapes are broadcast.

    >>> cosine_similarity(genesis.tensor([[1.0, 0.0]]), genesis.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    require_real("cosine_similarity", x1, x2)
    if x1.shape != x2.shape:
        shape = _C.broadcast_shapes(x1.shape, x2.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    norm1 = _C.linalg_vector_norm(x1, 2, dim, True).clone()
    norm2 = _C.linalg_vector_norm(x2, 2, dim, True).clone()
    # As in PyTorch, the gradient is that of the norms also where eps replaces them.
    with _C.no_grad():
        norm1.clamp_min_(eps)
        norm2.clamp_min_(eps)
    return (x1 / norm1 * (x2 / norm2)).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of ``x1 - x2 + eps`` along the last dimension.

    >>> pairwise_distance(genesis.tensor([[3.0, 0.0]]), genesis.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    return _C.linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """``x / max(|x|, eps)``, with the p-norm along ``dim``.

    >>> normalize(genesis.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    norm = _C.linalg_vector_norm(input, p, dim, True).clamp_min(eps)
    return _C.div(input, norm, out=out)
