"""Transforms to simplices and to matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import genesis
from genesis import Size, Tensor
from genesis.distributions import constraints
from genesis.distributions._transforms.base import Plain
from genesis.distributions._transforms.elementwise import clipped_sigmoid
from genesis.distributions.utils import (
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from genesis.nn.functional import pad, softplus


class CorrCholeskyTransform(Plain):
    """Vectors of n(n-1)/2 numbers to Cholesky factors of n x n correlation matrices.

    tanh(x) are partial correlations, and each row is built by stick breaking, so that its
    length is 1.
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = genesis.tanh(x)
        eps = genesis.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)  # the length that is left after each element
        r = r + genesis.eye(r.shape[-1], dtype=r.dtype)
        return r * pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1.0)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2  # atanh

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        strips = tril_matrix_to_vec(left, diag=-2).log().sum(-1) / 2
        slopes = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return strips + slopes

    def forward_shape(self, shape: Sequence[int]) -> Size:
        if not shape:
            raise ValueError("CorrCholeskyTransform: the input must have at least one dimension")
        count = shape[-1]
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != count:
            raise ValueError(f"CorrCholeskyTransform: {count} elements are not n(n-1)/2 for any n")
        return Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(
                f"CorrCholeskyTransform: expected square matrices, got shape {tuple(shape)}"
            )
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class SoftmaxTransform(Plain):
    """y = softmax(x). Not bijective: the inverse is log(y)."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return genesis.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        if not shape:
            raise ValueError("SoftmaxTransform: the input must have at least one dimension")
        return Size(shape)

    inverse_shape = forward_shape


class StickBreakingTransform(Plain):
    """Vectors of n numbers to probability vectors of n + 1: each takes a part of what is left of
    1.
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        n = x.shape[-1]
        return genesis.arange(n, 0, -1, dtype=x.dtype).log()

    def _call(self, x: Tensor) -> Tensor:
        part = clipped_sigmoid(x - self._offset(x))
        left = (1 - part).cumprod(-1)
        return pad(part, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        head = y[..., :-1]
        left = (1 - head.cumsum(-1)).clamp(min=genesis.finfo(y.dtype).tiny)
        return head.log() - left.log() + self._offset(head)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shifted = x - self._offset(x)
        return (-shifted + genesis.nn.functional.logsigmoid(shifted) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        if not shape:
            raise ValueError("StickBreakingTransform: the input must have at least one dimension")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        if not shape:
            raise ValueError("StickBreakingTransform: the input must have at least one dimension")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Plain):
    """Square matrices to lower triangular ones with a positive diagonal, exp of the given one."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """Square matrices to positive definite ones, by way of their Cholesky factor."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(genesis.linalg.cholesky(y))
