"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Size, Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Shape
from genesis.distributions.exp_family import ExponentialFamily
from genesis.distributions.utils import (
    all_true,
    binary_log_likelihood,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ExponentialFamily):
    """The distribution on [0, 1] with density proportional to ``probs**x * (1 - probs)**(1 - x)``.

    Loaiza-Ganem and Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders", 2019. Between ``lims`` the normalizing constant is a Taylor series.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0.0
    _kept = ("_lims",)

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("ContinuousBernoulli: pass either probs or logits, but not both")
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            # Before clamp_probs() makes them valid; as in PyTorch, only where it was asked for.
            constraint = self.arg_constraints["probs"]
            if validate_args and not all_true(constraint.check(self.probs)):
                raise ValueError(
                    "ContinuousBernoulli: expected parameter probs to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{self.probs}"
                )
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def _param(self) -> Tensor:
        param: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return param

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, with a harmless value where the closed forms divide 0 by 0."""
        return genesis.where(self._outside_unstable_region(), self.probs, self._lims[0])  # type: ignore[no-any-return]

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of 2 atanh(1 - 2p) / (1 - 2p), which is symmetric around 1/2."""
        p = self._cut_probs()
        closed = genesis.log(2 * genesis.atanh(1 - 2 * p).abs()) - genesis.log((1 - 2 * p).abs())
        x = (self.probs - 0.5).pow(2)
        return genesis.where(  # type: ignore[no-any-return]
            self._outside_unstable_region(), closed, math.log(2.0) + (4 / 3 + 104 / 45 * x) * x
        )

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        closed = p / (2 * p - 1) + 1 / (genesis.log1p(-p) - genesis.log(p))
        x = self.probs - 0.5
        return genesis.where(  # type: ignore[no-any-return]
            self._outside_unstable_region(), closed, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x
        )

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        closed = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / (genesis.log1p(-p) - genesis.log(p)).pow(2)
        x = (self.probs - 0.5).pow(2)
        return genesis.where(  # type: ignore[no-any-return]
            self._outside_unstable_region(), closed, 1 / 12 - (1 / 15 - 128 / 945 * x) * x
        )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.icdf(genesis.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with genesis.no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return binary_log_likelihood(logits, value) + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        closed = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        inside = genesis.where(self._outside_unstable_region(), closed, value)
        return genesis.where(value <= 0, 0.0, genesis.where(value >= 1, 1.0, inside))  # type: ignore[no-any-return]

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        closed = (genesis.log1p(-p + value * (2 * p - 1)) - genesis.log1p(-p)) / (
            genesis.log(p) - genesis.log1p(-p)
        )
        return genesis.where(self._outside_unstable_region(), closed, value)  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        log_p, log_q = genesis.log(self.probs), genesis.log1p(-self.probs)
        return self.mean * (log_q - log_p) - self._cont_bern_log_norm() - log_q

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """log((exp(x) - 1) / x)."""
        (x,) = natural_params
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = genesis.where(outside, x, self._lims[0] - 0.5)
        closed = genesis.log(genesis.expm1(cut).abs()) - genesis.log(cut.abs())
        return genesis.where(outside, closed, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)  # type: ignore[no-any-return]
