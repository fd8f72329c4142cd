"""The generalized Pareto distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution with ``loc``, ``scale`` and shape ``concentration``."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = genesis.where(
            self.concentration < 0, self.loc - self.scale / self.concentration, genesis.inf
        )
        return constraints.interval(self.loc, upper)

    def _is_exponential(self) -> Tensor:
        return genesis.isclose(self.concentration, genesis.zeros_like(self.concentration))

    def _safe_concentration(self) -> Tensor:
        return genesis.where(self._is_exponential(), 1.0, self.concentration)  # type: ignore[no-any-return]

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(genesis.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def _log_survival(self, value: Tensor) -> Tensor:
        z, k = (value - self.loc) / self.scale, self._safe_concentration()
        return genesis.where(self._is_exponential(), -z, -genesis.log1p(k * z) / k)  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (1 + self.concentration) * self._log_survival(value) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._log_survival(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        return genesis.log(-genesis.expm1(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return -genesis.expm1(self.log_survival_function(value))

    def icdf(self, value: Tensor) -> Tensor:
        k, survival = self._safe_concentration(), genesis.log1p(-value)
        excess = genesis.where(self._is_exponential(), -survival, genesis.expm1(-k * survival) / k)
        return self.loc + self.scale * excess  # type: ignore[no-any-return]

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        return genesis.where(  # type: ignore[no-any-return]
            k < 1, self.loc + self.scale / genesis.where(k < 1, 1 - k, 1.0), genesis.inf
        )

    @property
    def variance(self) -> Tensor:
        k = genesis.where(self.concentration < 0.5, self.concentration, 0.0)
        variance = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return genesis.where(self.concentration < 0.5, variance, genesis.inf)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        return genesis.log(self.scale) + self.concentration + 1

    @property
    def mode(self) -> Tensor:
        return self.loc
