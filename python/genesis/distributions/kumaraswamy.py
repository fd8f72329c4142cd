"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Shape
from genesis.distributions.transformed_distribution import TransformedDistribution
from genesis.distributions.transforms import AffineTransform, PowerTransform
from genesis.distributions.uniform import Uniform
from genesis.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """A distribution on [0, 1] much like beta, whose cdf has a closed form: ``1 - (1 -
    x**a)**b``.
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            genesis.zeros_like(self.concentration0),
            genesis.ones_like(self.concentration0),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Kumaraswamy:
        new: Kumaraswamy = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)  # type: ignore[no-any-return]

    def _moment(self, order: int) -> Tensor:
        a = 1 + order / self.concentration1
        b = self.concentration0
        return genesis.exp(genesis.lgamma(a) + genesis.lgamma(b) - genesis.lgamma(a + b)) * b

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = (genesis.log((a - 1).clamp(min=0)) - genesis.log((a * b - 1).clamp(min=0))) / a
        inside = (a >= 1) & (b >= 1) & ((a > 1) | (b > 1))
        return genesis.where(inside, log_mode.exp(), genesis.nan)  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self) -> Tensor:
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = genesis.digamma(self.concentration0 + 1) + euler_constant
        return (
            t0 + t1 * harmonic - genesis.log(self.concentration1) - genesis.log(self.concentration0)
        )
