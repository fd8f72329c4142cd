"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import all_true, broadcast_all

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The von Mises distribution of angles, with mean ``loc`` and ``concentration``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # log I0(k) = k + log(i0e(k)) does not overflow
        return (
            self.concentration * (genesis.cos(value - self.loc) - 1)
            - math.log(2 * math.pi)
            - genesis.special.i0e(self.concentration).log()
        )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Best and Fisher's rejection from the wrapped Cauchy distribution, 1979."""
        shape = self._extended_shape(sample_shape)
        with genesis.no_grad():
            k = self.concentration.to(genesis.float64).expand(shape)
            tau = 1 + (1 + 4 * k**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = genesis.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
            angle = genesis.zeros(shape, dtype=genesis.float64)
            done = genesis.zeros(shape, dtype=genesis.bool)
            while not all_true(done):
                u1, u2, u3 = genesis.rand((3, *shape), dtype=genesis.float64)
                z = genesis.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                new = (u3 - 0.5).sign() * genesis.acos(f.clamp(min=-1, max=1))
                angle = genesis.where(accept & ~done, new, angle)
                done = done | accept
            angle = (angle + self.loc.to(genesis.float64) + math.pi) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I1(k) / I0(k)."""
        return 1 - genesis.special.i1e(self.concentration) / genesis.special.i0e(self.concentration)
