"""What all transforms have in common: caching, comparison and the inverse."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from genesis import Size, Tensor


class Transform:
    """The base class: subclasses define ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.

    With ``cache_size=1`` the last pair of input and output is kept, so that the inverse of a
    value that was just computed is exact and costs nothing.
    """

    bijective: bool = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"{type(self).__name__}: cache_size must be 0 or 1, got {cache_size}")
        self._cache_size = cache_size
        self._inv: weakref.ReferenceType[Transform] | None = None
        if cache_size == 1:
            self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_inv"] = None
        return state

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(
                f"{type(self).__name__}: domain and codomain differ in event_dim; use those of each"
            )
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Transform:
        """The inverse. ``transform.inv.inv is transform``."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """The sign of the derivative, for monotonic transforms."""
        raise NotImplementedError(f"{type(self).__name__} is not monotonic")

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self).__name__}.with_cache: define it in the subclass")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old  # type: ignore[no-any-return]
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old  # type: ignore[no-any-return]
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx|, summed over the dimensions of an event."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__ + "()"

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return Size(shape)


class Plain(Transform):
    """A transform without parameters: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inverted = transform

    @property
    def domain(self) -> Any:
        return self._inverted.codomain

    @property
    def codomain(self) -> Any:
        return self._inverted.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inverted.bijective

    @property
    def sign(self) -> Any:
        return self._inverted.sign

    @property
    def inv(self) -> Transform:
        return self._inverted

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inverted.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inverted == other._inverted

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inverted!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inverted._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inverted(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inverted.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._inverted.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._inverted.forward_shape(shape)
