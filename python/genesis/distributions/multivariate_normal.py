"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x for every vector, with broadcasting of the factors L."""
    return (
        genesis.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False)
        .squeeze(-1)
        .pow(2)
        .sum(-1)
    )


def _half_log_det(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, without forming the inverse (P reversed = L L^T)."""
    factor = genesis.linalg.cholesky(precision.flip((-2, -1)))
    inverse = factor.flip((-2, -1)).mT
    eye = genesis.eye(precision.shape[-1], dtype=precision.dtype)
    return genesis.linalg.solve_triangular(inverse, eye, upper=False)


def cholesky_inverse(factor: Tensor) -> Tensor:
    """(L L^T)^-1."""
    eye = genesis.eye(factor.shape[-1], dtype=factor.dtype)
    inverse = genesis.linalg.solve_triangular(factor, eye, upper=False)
    return inverse.mT @ inverse


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean ``loc``.

    Give one of ``covariance_matrix``, ``precision_matrix`` (its inverse) and ``scale_tril``
    (its Cholesky factor, the cheapest).

    >>> MultivariateNormal(genesis.zeros(2), genesis.eye(2)).log_prob(genesis.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError(
                "MultivariateNormal: loc must have at least one dimension, got a 0-d tensor"
            )
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "MultivariateNormal: pass exactly one of covariance_matrix, "
                "precision_matrix and scale_tril, "
                f"got {', '.join(given) or 'none'}"
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"MultivariateNormal: {name} must have at least two dimensions, got shape "
                f"{tuple(matrix.shape)}"
            )
        batch = genesis.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        setattr(self, name, matrix.expand((*batch, *matrix.shape[-2:])))
        self.loc = loc.expand((*batch, loc.shape[-1]))
        super().__init__(batch, loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = genesis.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> MultivariateNormal:
        new: MultivariateNormal = self._get_checked_instance(MultivariateNormal, _instance)
        n = self._event_shape[0]
        new.loc = self.loc.expand((*batch_shape, n))
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand((*batch_shape, n, n)))
        super(MultivariateNormal, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _broadcast(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._broadcast(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._broadcast(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand((*self._batch_shape, *self._event_shape))
        )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + _half_log_det(
            self._unbroadcasted_scale_tril
        )
        return entropy.expand(self._batch_shape)
