"""The distribution of a transformed variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import genesis
from genesis import _C, Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Distribution, Shape
from genesis.distributions.independent import Independent
from genesis.distributions.transforms import ComposeTransform, Transform
from genesis.distributions.utils import sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``transforms(x)``, where x is drawn from ``base_distribution``.

    The density follows from the base's by the determinant of the Jacobian.
    """

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        for transform in self.transforms:
            if not isinstance(transform, Transform):
                raise ValueError(
                    "TransformedDistribution: transforms must be Transforms, got "
                    f"{type(transform).__name__}"
                )
        base_shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                "TransformedDistribution: the transforms need events of "
                f"{transform.domain.event_dim} dimensions, "
                f"but base_distribution has only shape {base_shape}"
            )
        forward_shape = transform.forward_shape(base_shape)
        # Batch dimensions of the base that the transforms broadcast, or take into an event.
        expanded = transform.inverse_shape(forward_shape)
        if tuple(expanded) != base_shape:
            base_batch = expanded[: len(expanded) - len(base_distribution.event_shape)]
            base_distribution = base_distribution.expand(base_batch)
        reinterpreted = transform.domain.event_dim - len(base_distribution.event_shape)
        if reinterpreted > 0:
            base_distribution = Independent(base_distribution, reinterpreted)
        self.base_dist = base_distribution
        change = transform.codomain.event_dim - transform.domain.event_dim
        event_dim = max(transform.codomain.event_dim, len(base_distribution.event_shape) + change)
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        new.transforms = self.transforms
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self._event_shape))
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        super(TransformedDistribution, new).__init__(
            batch_shape, self._event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self._event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with genesis.no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self._event_shape)
        result: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            jacobian = transform.log_abs_det_jacobian(x, y)
            result = result - sum_rightmost(jacobian, event_dim - transform.domain.event_dim)
            y = x
        log_prob = self.base_dist.log_prob(y)
        return result + sum_rightmost(log_prob, event_dim - len(self.base_dist.event_shape))  # type: ignore[no-any-return]

    def _sign(self) -> Any:
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._flip(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        x = self.base_dist.icdf(self._flip(value))
        for transform in self.transforms:
            x = transform(x)
        return x

    def _flip(self, probability: Tensor) -> Tensor:
        """The probability of larger instead of smaller values, for decreasing transforms."""
        sign = self._sign()
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.base_dist!r}, {self.transforms!r})"
            if type(self) is TransformedDistribution and not _C._is_exact_torch()
            else super().__repr__()
        )
