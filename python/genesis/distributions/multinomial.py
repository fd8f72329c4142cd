"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Size, Tensor
from genesis.distributions import constraints
from genesis.distributions.binomial import Binomial
from genesis.distributions.categorical import Categorical
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """The counts of each category in ``total_count`` independent draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "Multinomial: total_count must be one int for the whole batch, got "
                f"{type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits, validate_args=validate_args)
        self._binomial = Binomial(
            total_count=total_count, probs=self.probs, validate_args=validate_args
        )
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Multinomial:
        new: Multinomial = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand((*batch_shape, *self._event_shape))
        super(Multinomial, new).__init__(batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with genesis.no_grad():
            drawn = self._categorical.sample((self.total_count, *sample_shape)).unsqueeze(-1)
            counts = genesis.zeros(
                (*drawn.shape[:-1], self._event_shape[0]), dtype=self.probs.dtype
            )
            ones = genesis.ones_like(drawn, dtype=counts.dtype)
            return counts.scatter_add(-1, drawn, ones).sum(0)

    def entropy(self) -> Tensor:
        n = self.probs.new_full((), float(self.total_count))
        entropy = self._categorical.entropy()
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = genesis.exp(self._binomial.log_prob(support))
        return (
            n * entropy
            - genesis.lgamma(n + 1)
            + (weights * genesis.lgamma(support + 1)).sum([0, -1])
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -genesis.inf), 0)
        choose = genesis.lgamma(value.sum(-1) + 1) - genesis.lgamma(value + 1).sum(-1)
        return choose + (logits * value).sum(-1)
