"""The F-distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.gamma import Gamma
from genesis.distributions.utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The Fisher-Snedecor (F) distribution with ``df1`` and ``df2`` degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return genesis.where(self.df2 > 2, self.df2 / (self.df2 - 2), genesis.nan)  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return genesis.where(self.df1 > 2, mode, genesis.nan)  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        d1, d2 = self.df1, self.df2
        variance = 2 * d2.pow(2) * (d1 + d2 - 2) / (d1 * (d2 - 2).pow(2) * (d2 - 4))
        return genesis.where(d2 > 4, variance, genesis.nan)  # type: ignore[no-any-return]

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        tiny = genesis.finfo(self.df1.dtype).tiny
        above = Gamma(self.df1 / 2, self.df1 / 2, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 / 2, self.df2 / 2, validate_args=False).rsample(sample_shape)
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2 = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        return (
            genesis.lgamma(half1 + half2)
            - genesis.lgamma(half1)
            - genesis.lgamma(half2)
            + half1 * ratio.log()
            + (half1 - 1) * value.log()
            - (half1 + half2) * genesis.log1p(ratio * value)
        )
