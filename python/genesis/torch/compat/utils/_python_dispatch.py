"""Modes below autograd, which see every native operator: Genesis has none.

Modes at the level of functions (``overrides.TorchFunctionMode``) see every call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = [
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """A block in which ``__torch_dispatch__`` sees every native operator; entering it raises."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> TorchDispatchMode:
        raise RuntimeError(
            f"{type(self).__name__}: Genesis has no modes below autograd; use "
            "overrides.TorchFunctionMode, which sees calls of functions, or utils.flop_counter"
        )

    def __exit__(self, *exception: object) -> None: ...


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor is composed of others by ``__tensor_flatten__``."""
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t: Any, callback: Any, *args: Any) -> Any:
    """The wrapper tensor with ``callback(name, tensor)`` in place of each inner tensor."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    return type(t).__tensor_unflatten__(inner, context, t.size(), t.stride())


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result; views and in-place operators have the right storage already."""
    return out


def _get_current_dispatch_mode() -> None:
    """The innermost mode: none."""


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes that are entered: none."""
    return []


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    yield []
