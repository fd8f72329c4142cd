"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.categorical import Categorical
from genesis.distributions.constraints import MixtureSameFamilyConstraint
from genesis.distributions.distribution import Distribution, Shape

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: ``mixture_distribution`` chooses along the last batch dimension of
    ``component_distribution``.
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "MixtureSameFamily: mixture_distribution must be a Categorical, got "
                f"{type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "MixtureSameFamily: component_distribution must be a Distribution, got "
                f"{type(component_distribution).__name__}"
            )
        chosen, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(chosen), reversed(batch), strict=False):
            if a != b and 1 not in (a, b):
                raise ValueError(
                    "MixtureSameFamily: mixture_distribution has batch shape "
                    f"{tuple(chosen)}, which does not broadcast "
                    f"to {tuple(batch)}, that of component_distribution without its last dimension"
                )
        k, components = (
            mixture_distribution._param.shape[-1],
            component_distribution.batch_shape[-1],
        )
        if k != components:
            raise ValueError(
                f"MixtureSameFamily: mixture_distribution has {k} categories, "
                f"component_distribution {components} components"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = components
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> MixtureSameFamily:
        new: MixtureSameFamily = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            (*batch_shape, self._num_component)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        super(MixtureSameFamily, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(*probs.shape, *(1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        weights, dim = self._weights(), -1 - self._event_ndims
        means = self.component_distribution.mean
        within = (weights * self.component_distribution.variance).sum(dim)
        return within + (weights * (means - self.mean.unsqueeze(dim)).pow(2)).sum(dim)

    def cdf(self, value: Tensor) -> Tensor:
        value = value.unsqueeze(-1 - self._event_ndims)
        return (self.component_distribution.cdf(value) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return genesis.logsumexp(
            log_prob + genesis.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1
        )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with genesis.no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            chosen = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(*chosen.shape, *(1,) * (self._event_ndims + 1))
            index = index.expand(*chosen.shape, 1, *self._event_shape)
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n  {self.mixture_distribution!r},"
            f"\n  {self.component_distribution!r})"
        )
