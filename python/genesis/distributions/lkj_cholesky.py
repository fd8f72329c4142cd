"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.beta import Beta
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """The LKJ distribution of Cholesky factors of ``dim`` x ``dim`` correlation matrices.

    The density of a correlation matrix M is proportional to ``det(M)**(concentration - 1)``:
    uniform for a concentration of 1, concentrated at the identity for larger values.

    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and
    extended onion method", 2009.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    dim: int

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim must be at least 2, got {dim}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        self._make_beta()
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def _make_beta(self) -> None:
        # Squared lengths of the rows below the diagonal, for the onion method.
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = genesis.arange(self.dim - 1, dtype=self.concentration.dtype)
        offset = genesis.cat([offset.new_zeros(1), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset, validate_args=False)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> LKJCholesky:
        new: LKJCholesky = self._get_checked_instance(LKJCholesky, _instance)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))
        super(LKJCholesky, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with genesis.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            below = genesis.randn(self._extended_shape(sample_shape), dtype=squared.dtype).tril(-1)
            length = below.norm(dim=-1, keepdim=True)
            direction = below / length.where(length > 0, 1.0)  # the first row is empty
            squared = squared.clone()
            squared[..., 0, :] = 0.0
            factor = squared.sqrt() * direction
            tiny = genesis.finfo(factor.dtype).tiny
            diagonal = (1 - (factor**2).sum(-1)).clamp(min=tiny).sqrt()
            return factor + diagonal.diag_embed()  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.dim
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = genesis.arange(2, n + 1, dtype=self.concentration.dtype)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + n - order
        unnormalised = (order * diagonal.log()).sum(-1)
        alpha = self.concentration + 0.5 * (n - 1)
        normaliser = (
            0.5 * (n - 1) * math.log(math.pi)
            + genesis.mvlgamma(alpha - 0.5, n - 1)
            - genesis.lgamma(alpha) * (n - 1)
        )
        return unnormalised - normaliser
