"""The base class of all distributions: shapes, validation, expansion."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import genesis
from genesis import Size, Tensor
from genesis.distributions import constraints
from genesis.distributions.constraints import Constraint
from genesis.distributions.utils import all_true, lazy_property

__all__ = ["Distribution"]

Self = TypeVar("Self", bound="Distribution")
Shape = Sequence[int]


class Distribution:
    """A probability distribution over events of shape ``event_shape``, in a batch of
    ``batch_shape``.

    A sample has the shape ``sample_shape + batch_shape + event_shape``, and ``log_prob`` of it
    the shape ``sample_shape + batch_shape``. With ``validate_args=True`` (the default)
    parameters and values are checked against their constraints, with errors that name both.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    # Attributes that are not parameters and that expand() copies unchanged.
    _kept: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} does not define arg_constraints; define it, or set "
                "validate_args=False to turn off validation",
                stacklevel=3,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                getattr(type(self), name, None), lazy_property
            ):
                continue  # computed from a parameter that was checked
            value = getattr(self, name)
            valid = constraint.check(value)
            if not all_true(valid):
                raise ValueError(
                    f"{type(self).__name__}: expected parameter {name} (Tensor of shape "
                    f"{tuple(value.shape)}) "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    # ---- shapes ----

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def expand(self: Self, batch_shape: Shape, _instance: Any = None) -> Self:
        """The same distribution with its parameters expanded to another batch shape, without
        copies.
        """
        declaring = next(
            (c for c in type(self).__mro__ if "arg_constraints" in c.__dict__), Distribution
        )
        new = self._get_checked_instance(declaring, _instance)
        batch_shape = Size(batch_shape)
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                event = value.shape[value.dim() - constraint.event_dim :]
                new.__dict__[name] = value.expand((*batch_shape, *event))
        for name in self._kept:
            new.__dict__[name] = self.__dict__[name]
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new  # type: ignore[no-any-return]

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__}.expand: a subclass of {cls.__name__} with an "
                "__init__ of its own must define expand"
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # ---- what subclasses define ----

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraint that each parameter must satisfy, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no mode in closed form")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """A sample, without a gradient."""
        with genesis.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """A sample that is differentiable with respect to the parameters."""
        raise NotImplementedError(
            f"{type(self).__name__}.rsample: samples are not differentiable by the "
            "parameters; use sample()"
        )

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: use ``sample((n,))``."""
        warnings.warn("sample_n(n) is deprecated; use sample((n,))", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability or density at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function at `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf in closed form")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of :meth:`cdf`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf in closed form")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError(f"{type(self).__name__} cannot list its values")

    def entropy(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no entropy in closed form")

    def perplexity(self) -> Tensor:
        return genesis.exp(self.entropy())

    # ---- helpers ----

    def _enumerate(self, values: Tensor, expand: bool) -> Tensor:
        """Values along a new first dimension, in front of the batch."""
        values = values.reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def _validate_sample(self, value: Tensor) -> None:
        name = type(self).__name__
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: the value must be a Tensor, got {type(value).__name__}")
        event_dim = len(self._event_shape)
        if value.dim() < event_dim:
            raise ValueError(
                f"{name}: the value must have at least {event_dim} dimensions, got shape "
                f"{tuple(value.shape)}"
            )
        actual, expected = tuple(value.shape), (*self._batch_shape, *self._event_shape)
        if actual[len(actual) - event_dim :] != tuple(self._event_shape):
            raise ValueError(
                f"{name}: the value has event shape {actual[len(actual) - event_dim :]}, "
                f"expected {tuple(self._event_shape)}"
            )
        for i, j in zip(reversed(actual), reversed(expected), strict=False):
            if i != j and 1 not in (i, j):
                raise ValueError(
                    f"{name}: the value has shape {actual}, which does not broadcast to {expected}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{name} does not define support; define it, or set validate_args=False to "
                "turn off validation",
                stacklevel=3,
            )
            return
        valid = support.check(value)
        if not all_true(valid):
            raise ValueError(
                f"{name}: expected value (Tensor of shape {actual}) to be within the "
                f"support {support!r}, "
                f"but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self._shown_parameters():
            value = self.__dict__[name]
            shown.append(
                f"{name}: "
                f"{value if not isinstance(value, Tensor) or value.dim() == 0 else value.size()}"
            )
        return f"{type(self).__name__}({', '.join(shown)})"

    def _shown_parameters(self) -> list[str]:
        return [name for name in self.arg_constraints if name in self.__dict__]
