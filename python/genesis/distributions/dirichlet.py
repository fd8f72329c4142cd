"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis._C import _log_standard_gamma
from genesis.distributions import constraints
from genesis.distributions.distribution import Shape
from genesis.distributions.exp_family import ExponentialFamily
from genesis.distributions.utils import clamp_value

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """A distribution of probability vectors, with one ``concentration`` for each element."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                "Dirichlet: concentration must have at least one dimension, got a 0-d tensor"
            )
        self.concentration = concentration
        super().__init__(
            concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args
        )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        # Gamma variates divided by their sum, in logarithms: those of small concentrations
        # underflow.
        logs = _log_standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        value = genesis.softmax(logs, -1)
        info = genesis.finfo(value.dtype)
        return clamp_value(value, min=info.tiny, max=1 - info.eps / 2)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            genesis.xlogy(self.concentration - 1.0, value).sum(-1)
            + genesis.lgamma(self.concentration.sum(-1))
            - genesis.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(
            -1, keepdim=True
        )  # the density is largest at a corner then
        largest = genesis.nn.functional.one_hot(
            self.concentration.argmax(-1), self.concentration.shape[-1]
        )
        return genesis.where(corner, largest.to(mode.dtype), mode)  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k, total = self.concentration.shape[-1], self.concentration.sum(-1)
        return (
            genesis.lgamma(self.concentration).sum(-1)
            - genesis.lgamma(total)
            - (k - total) * genesis.digamma(total)
            - ((self.concentration - 1.0) * genesis.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - genesis.lgamma(x.sum(-1))

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Dirichlet:
        new: Dirichlet = self._get_checked_instance(Dirichlet, _instance)
        new.concentration = self.concentration.expand((*batch_shape, *self._event_shape))
        super(Dirichlet, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new
