"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.chi2 import Chi2
from genesis.distributions.distribution import Shape
from genesis.distributions.exp_family import ExponentialFamily
from genesis.distributions.multivariate_normal import (
    _half_log_det,
    _precision_to_scale_tril,
    cholesky_inverse,
)
from genesis.distributions.utils import all_true, lazy_property

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the logarithm of the multivariate gamma function."""
    return genesis.digamma(x.unsqueeze(-1) - genesis.arange(p, dtype=x.dtype) / 2).sum(-1)


class Wishart(ExponentialFamily):
    """The Wishart distribution with ``df`` degrees of freedom.

    Its scale is given by exactly one of ``covariance_matrix``, ``precision_matrix`` and
    ``scale_tril``.
    """

    arg_constraints = {
        "df": constraints.dependent(is_discrete=False, event_dim=0),
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "Wishart: pass exactly one of covariance_matrix, precision_matrix and scale_tril, "
                f"got {', '.join(given) or 'none'}"
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"Wishart: {name} must have at least two dimensions, got shape "
                f"{tuple(matrix.shape)}"
            )
        df = genesis.as_tensor(df, dtype=matrix.dtype)
        n = matrix.shape[-1]
        batch = genesis.broadcast_shapes(tuple(df.shape), tuple(matrix.shape[:-2]))
        self.df = df.expand(batch)
        if not all_true(self.df > n - 1):
            raise ValueError(f"Wishart: df must be above {n - 1}, the dimension less one, got {df}")
        setattr(self, name, matrix.expand((*batch, n, n)))
        super().__init__(batch, (n, n), validate_args=validate_args)
        if not all_true(self.df >= n):
            warnings.warn(
                f"Wishart: samples may be singular numerically where df is below {n}", stacklevel=2
            )
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = genesis.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._make_chi2()

    def _make_chi2(self) -> None:
        n = self._event_shape[0]
        self._dist_chi2 = Chi2(
            self.df.unsqueeze(-1) - genesis.arange(n, dtype=self.df.dtype), validate_args=False
        )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Wishart:
        new: Wishart = self._get_checked_instance(Wishart, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new.df = self.df.expand(batch_shape)
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand((*batch_shape, *self._event_shape)))
        super(Wishart, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._make_chi2()
        new._validate_args = self._validate_args
        return new

    def _broadcast(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape))

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
        return self.df[..., None, None] * self.covariance_matrix  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[0] - 1
        factor = genesis.where(factor <= 0, genesis.nan, factor)
        return factor[..., None, None] * self.covariance_matrix  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (v.pow(2) + products)  # type: ignore[no-any-return]

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Tensor:
        """By Bartlett's decomposition. Singular samples are drawn again, `max_try_correction`
        times at most.
        """
        tries = 3 if max_try_correction is None else max_try_correction
        value = self._bartlett(sample_shape)
        for _ in range(tries):
            valid = self.support.check(value)
            if all_true(valid):
                break
            value = genesis.where(valid[..., None, None], value, self._bartlett(sample_shape))
        return value

    def _bartlett(self, sample_shape: Shape) -> Tensor:
        n = self._event_shape[0]
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        below = genesis.randn(self._extended_shape(sample_shape), dtype=self.df.dtype).tril(-1)
        root = self._unbroadcasted_scale_tril @ (below + diagonal.diag_embed())
        assert root.shape[-1] == n
        return root @ root.mT

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, df = self._event_shape[0], self.df
        # tr(V^-1 X), from the triangular factor
        solved = genesis.linalg.solve_triangular(self._unbroadcasted_scale_tril, value, upper=False)
        solved = genesis.linalg.solve_triangular(
            self._unbroadcasted_scale_tril, solved.mT, upper=False
        )
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        return (  # type: ignore[no-any-return]
            -df * (n * math.log(2.0) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            - genesis.mvlgamma(df / 2, n)
            + (df - n - 1) / 2 * genesis.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        n, df = self._event_shape[0], self.df
        return (  # type: ignore[no-any-return]
            (n + 1) * (n * math.log(2.0) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
            + genesis.mvlgamma(df / 2, n)
            - (df - n - 1) / 2 * _mvdigamma(df / 2, n)
            + df * n / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        n = self._event_shape[0]
        return (-self.precision_matrix / 2, (self.df - n - 1) / 2)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self._event_shape[0]
        half_df = y + (n + 1) / 2
        return half_df * (
            -genesis.linalg.slogdet(-2 * x).logabsdet + n * math.log(2.0)
        ) + genesis.mvlgamma(half_df, n)
