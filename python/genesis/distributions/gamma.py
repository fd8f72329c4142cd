"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis._C import _standard_gamma
from genesis.distributions import constraints
from genesis.distributions.distribution import Shape
from genesis.distributions.exp_family import ExponentialFamily
from genesis.distributions.utils import broadcast_all, clamp_value

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution with shape ``concentration`` and ``rate`` (1 / scale).

    Samples are differentiable by both parameters (implicit reparameterisation).
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0.0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return clamp_value(value, min=genesis.finfo(value.dtype).tiny)  # the density excludes 0

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = genesis.as_tensor(value, dtype=self.rate.dtype)
        return (
            genesis.xlogy(self.concentration, self.rate)
            + genesis.xlogy(self.concentration - 1, value)
            - self.rate * value
            - genesis.lgamma(self.concentration)
        )

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - genesis.log(self.rate)
            + genesis.lgamma(self.concentration)
            + (1.0 - self.concentration) * genesis.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        return genesis.lgamma(x + 1) + (x + 1) * genesis.log(-y.reciprocal())

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return genesis.igamma(self.concentration, self.rate * value)
