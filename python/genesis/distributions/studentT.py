"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.chi2 import Chi2
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import broadcast_all, standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution with ``df`` degrees of freedom, ``loc`` and ``scale``."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return genesis.where(self.df > 1, self.loc, genesis.nan)  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = genesis.where(finite, self.df, 3.0)
        infinite = genesis.where(self.df > 1, genesis.inf, genesis.nan).to(self.df.dtype)
        return genesis.where(finite, self.scale.pow(2) * df / (df - 2), infinite)  # type: ignore[no-any-return]

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        # A normal number over the root of an independent chi-squared one, divided by its mean.
        shape = self._extended_shape(sample_shape)
        x = standard_normal(shape, self.df.dtype)
        z = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * x * genesis.rsqrt(z / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normaliser = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + genesis.lgamma(0.5 * self.df)
            - genesis.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * genesis.log1p(y**2.0 / self.df) - normaliser

    def entropy(self) -> Tensor:
        log_beta = (
            genesis.lgamma(0.5 * self.df) + math.lgamma(0.5) - genesis.lgamma(0.5 * (self.df + 1))
        )
        half = 0.5 * (self.df + 1)
        return (
            self.scale.log()
            + half * (genesis.digamma(half) - genesis.digamma(0.5 * self.df))
            + 0.5 * self.df.log()
            + log_beta
        )
