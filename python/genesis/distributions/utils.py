"""Helpers of distributions: broadcasting, conversion of probabilities, and lazy attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import genesis
from genesis import _C, Tensor
from genesis.nn.functional import binary_cross_entropy_with_logits

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

T = TypeVar("T")
Number = (int, float, bool)
euler_constant = 0.57721566490153286060  # Euler and Mascheroni's


def all_true(valid: Tensor) -> bool:
    """Whether all elements are True; under vmap, all elements of the whole batch.

    A compiled function checks it in every call.
    """
    valid = _C._physical(valid)
    return _C._all_true(valid) if _C._capturing() else bool(valid.all())


def room(shape: Any, *parameters: Tensor) -> Tensor:
    """An empty tensor for random numbers; under vmap, mapped over if a parameter is."""
    like = parameters[0]
    for other in parameters[1:]:
        if _C._is_batched(other):
            like = like + other
    return like.new_empty(shape)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values, broadcast to a common shape. Numbers get the dtype of the first tensor."""
    for position, value in enumerate(values):
        if not isinstance(value, (Tensor, *Number)):
            raise ValueError(
                "broadcast_all: every value must be a Tensor or a number, got "
                f"{type(value).__name__} at position {position}"
            )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = genesis.get_default_dtype() if first is None else first.dtype
    tensors = [v if isinstance(v, Tensor) else genesis.tensor(v, dtype=dtype) for v in values]
    return tuple(genesis.broadcast_tensors(*tensors))


def standard_normal(shape: Sequence[int], dtype: Any) -> Tensor:
    return _standard_normal(shape, dtype)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.flatten(-dim).sum(-1)


# The names by which packages know these.
_sum_rightmost = sum_rightmost


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any = None) -> Tensor:
    return genesis.randn(tuple(shape), dtype=dtype, device=device)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    return genesis.sigmoid(logits) if is_binary else genesis.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Away from 0 and 1 by the precision of the dtype."""
    eps = genesis.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def clamp_value(value: Tensor, min: float, max: float | None = None) -> Tensor:
    """`value` limited to [min, max], with the gradient that it has without the limits."""
    return value + (value.clamp(min=min, max=max) - value).detach()


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    clamped = clamp_probs(probs)
    return genesis.log(clamped) - genesis.log1p(-clamped) if is_binary else genesis.log(clamped)


def binary_log_likelihood(logits: Tensor, value: Tensor) -> Tensor:
    """value * log p + (1 - value) * log (1 - p), stable for large logits."""
    return -binary_cross_entropy_with_logits(logits, value, reduction="none")


class lazy_property(Generic[T]):
    """An attribute computed at the first access, with gradients enabled, and kept from then on."""

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> _Lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> T: ...
    def __get__(self, instance: object | None, owner: Any = None) -> T | _Lazy[T]:
        if instance is None:
            return _Lazy(self.wrapped)
        with genesis.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _Lazy(lazy_property[T], property):
    """What a class shows for the attribute: a property, so that documentation tools list it."""

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle of each matrix, row by row, as a vector."""
    n = mat.shape[-1]
    if not -n < diag < n:
        raise ValueError(
            f"tril_matrix_to_vec: diag must be between {1 - n} and {n - 1}, got {diag}"
        )
    rows, columns = genesis.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of :func:`tril_matrix_to_vec`, with zeros above the diagonal `diag`."""
    length = vec.shape[-1]
    n = round(
        (((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5 - (1 + 2 * diag))
        / 2
    )
    rows, columns = genesis.tril_indices(n, n, diag)
    if len(rows) != length:
        raise ValueError(
            f"vec_to_tril_matrix: {length} elements do not fill a triangle with diag={diag}"
        )
    mat = vec.new_zeros((*vec.shape[:-1], n, n))
    mat[..., rows, columns] = vec
    return mat
