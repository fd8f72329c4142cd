"""The categorical distribution."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import Size, Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The categorical distribution on the integers from 0 to K - 1.

    The last dimension of ``probs`` holds the probabilities, which are normalized to sum to 1, that
    of ``logits`` unnormalized log-probabilities.

    >>> Categorical(probs=genesis.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(f"{type(self).__name__}: pass either probs or logits, but not both")
        param = probs if probs is not None else logits
        assert param is not None
        if param.dim() < 1:
            name = "probs" if probs is not None else "logits"
            raise ValueError(
                f"{type(self).__name__}: {name} must have at least one dimension, got a 0-d tensor"
            )
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = param - param.logsumexp(dim=-1, keepdim=True)
        self._num_events = param.shape[-1]
        super().__init__(param.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Categorical:
        new: Categorical = self._get_checked_instance(Categorical, _instance)
        shape = (*batch_shape, self._num_events)
        for name in ("probs", "logits"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(shape))
        new._num_events = self._num_events
        super(Categorical, new).__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def _param(self) -> Tensor:
        param: Tensor = self.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        return param

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return genesis.full(self._extended_shape(), genesis.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return genesis.full(self._extended_shape(), genesis.nan, dtype=self.probs.dtype)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        count = Size(sample_shape).numel()
        with genesis.no_grad():
            if count == 0 or self._batch_shape.numel() == 0:
                return genesis.zeros(self._extended_shape(sample_shape), dtype=genesis.int64)
            drawn = genesis.multinomial(self.probs.reshape(-1, self._num_events), count, True)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, logits = genesis.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=genesis.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerate(genesis.arange(self._num_events), expand)
