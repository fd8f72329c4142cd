"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Shape
from genesis.distributions.gamma import Gamma
from genesis.distributions.transformed_distribution import TransformedDistribution
from genesis.distributions.transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x for gamma-distributed x of shape ``concentration`` and ``rate``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        transform = PowerTransform(exponent=-base.rate.new_ones(()))
        super().__init__(base, transform, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> InverseGamma:
        new: InverseGamma = self._get_checked_instance(InverseGamma, _instance)
        return super().expand(batch_shape, _instance=new)  # type: ignore[no-any-return]

    @property
    def concentration(self) -> Tensor:
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return genesis.where(a > 1, self.rate / (a - 1), genesis.inf)  # type: ignore[no-any-return]

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return genesis.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), genesis.inf)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
