"""The largest singular values of a matrix, by random projections."""

from __future__ import annotations

import genesis
from genesis import _C
from genesis._C import Tensor

__all__ = ["get_approximate_basis", "pca_lowrank", "svd_lowrank"]


def get_approximate_basis(A: Tensor, q: int, niter: int = 2, M: Tensor | None = None) -> Tensor:
    """Orthonormal columns that span most of what ``A - M`` maps to."""
    if M is not None:
        A = A - M
    shape = (*A.shape[:-2], A.shape[-1], q)
    Q = genesis.linalg.qr(A @ _C.randn(shape, dtype=A.dtype, device=A.device)).Q
    for _ in range(niter):  # powers make the large singular values stand out
        Q = genesis.linalg.qr(A.mT @ Q).Q
        Q = genesis.linalg.qr(A @ Q).Q
    return Q


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``U, S, V`` with about ``A - M = U @ diag(S) @ V.T``, of rank ``q``.

    >>> A = genesis.outer(genesis.arange(3.0), genesis.ones(4))
    >>> U, S, V = genesis.svd_lowrank(A, q=1)
    >>> genesis.allclose(U * S @ V.mT, A, atol=1e-5)
    True
    """
    rank = 6 if q is None else q
    rows, columns = A.shape[-2:]
    if not 0 <= rank <= min(rows, columns):
        raise ValueError(
            f"svd_lowrank: q must be between 0 and {min(rows, columns)}, the smaller size of the "
            f"matrix, got {rank}"
        )
    if M is not None:
        A = A - M
    if rows < columns:
        V, S, U = svd_lowrank(A.mT, rank, niter)
        return U, S, V
    Q = get_approximate_basis(A, rank, niter)
    U, S, Vh = genesis.linalg.svd(Q.mT @ A, full_matrices=False)
    return Q @ U, S, Vh.mT


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of a matrix: ``svd_lowrank`` of it, centred."""
    rank = min(6, *A.shape[-2:]) if q is None else q
    if center:
        A = A - A.mean(-2, keepdim=True)
    return svd_lowrank(A, rank, niter)
