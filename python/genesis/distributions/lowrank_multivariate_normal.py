"""The multivariate normal distribution with a covariance matrix of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.multivariate_normal import _batch_mahalanobis, _half_log_det
from genesis.distributions.utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W, a matrix of the rank's size."""
    scaled = factor.mT / diag.unsqueeze(-2)
    eye = genesis.eye(factor.shape[-1], dtype=factor.dtype)
    return genesis.linalg.cholesky(scaled @ factor + eye)


def _lowrank_logdet(diag: Tensor, capacitance: Tensor) -> Tensor:
    """By the matrix determinant lemma: log |W W^T + D| = log |C| + log |D|."""
    return 2 * _half_log_det(capacitance) + diag.log().sum(-1)


def _lowrank_mahalanobis(factor: Tensor, diag: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """By the Woodbury identity: (W W^T + D)^-1 = D^-1 - D^-1 W C^-1 W^T D^-1."""
    scaled = factor.mT / diag.unsqueeze(-2)
    projected = (scaled @ x.unsqueeze(-1)).squeeze(-1)
    return (x.pow(2) / diag).sum(-1) - _batch_mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Costs grow with the rank, the number of columns of ``cov_factor``, and only linearly with
    the dimension.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError(
                "LowRankMultivariateNormal: loc must have at least one dimension, got a 0-d tensor"
            )
        n = loc.shape[-1]
        if cov_factor.dim() < 2 or cov_factor.shape[-2] != n:
            raise ValueError(
                f"LowRankMultivariateNormal: cov_factor must have shape (..., {n}, rank), "
                f"got {tuple(cov_factor.shape)}"
            )
        if cov_diag.dim() < 1 or cov_diag.shape[-1] != n:
            raise ValueError(
                f"LowRankMultivariateNormal: cov_diag must have shape (..., {n}), got "
                f"{tuple(cov_diag.shape)}"
            )
        batch = genesis.broadcast_shapes(
            tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1])
        )
        self.loc = loc.expand((*batch, n))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, n))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, (n,), validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> LowRankMultivariateNormal:
        new: LowRankMultivariateNormal = self._get_checked_instance(
            LowRankMultivariateNormal, _instance
        )
        n = self._event_shape[0]
        new.loc = self.loc.expand((*batch_shape, n))
        new.cov_diag = self.cov_diag.expand((*batch_shape, n))
        new.cov_factor = self.cov_factor.expand((*batch_shape, *self.cov_factor.shape[-2:]))
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        super(LowRankMultivariateNormal, new).__init__(
            batch_shape, self._event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        diagonal = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return diagonal.expand((*self._batch_shape, *self._event_shape))

    def _broadcast(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._broadcast(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def scale_tril(self) -> Tensor:
        return genesis.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = genesis.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._broadcast(
            self._unbroadcasted_cov_diag.reciprocal().diag_embed() - solved.mT @ solved
        )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        low = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc.dtype)
        own = standard_normal(shape, self.loc.dtype)
        correlated = (self._unbroadcasted_cov_factor @ low.unsqueeze(-1)).squeeze(-1)
        return self.loc + correlated + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diag = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = _lowrank_mahalanobis(factor, diag, value - self.loc, self._capacitance_tril)
        log_det = _lowrank_logdet(diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = _lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape)
