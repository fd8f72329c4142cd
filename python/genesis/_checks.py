"""Conditions that raise when they do not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis._C import Tensor

__all__ = [
    "_assert",
    "_assert_async",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_type",
    "_check_value",
    "_check_with",
    "_is_all_true",
]


def _check_with(
    error_type: type[Exception], cond: Any, message: Callable[[], Any] | str | None = None
) -> None:
    """Raise ``error_type`` with ``message()`` unless ``cond``."""
    if cond:
        return
    if message is None:
        text = "Expected cond to be True, but got False."
    else:
        text = str(message() if callable(message) else message)
    raise error_type(text)


def _check(cond: Any, message: Any = None) -> None:
    """Raise a RuntimeError unless ``cond``."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """Raise an IndexError unless ``cond``."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """Raise a ValueError unless ``cond``."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """Raise a TypeError unless ``cond``."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """Raise a NotImplementedError unless ``cond``."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise a RuntimeError unless ``i`` is not negative and at most ``max``."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _assert(condition: Any, message: str) -> None:
    """Raise an AssertionError unless ``condition``."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise a RuntimeError unless the one element of a tensor is not zero."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _is_all_true(input: Tensor) -> Tensor:
    """Whether all elements are true, as a tensor."""
    return input.all()
