"""Mixed precision on a CUDA device: the old names. Without a device they do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from genesis import amp
from genesis._C import dtype, float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

T = TypeVar("T")


class autocast(amp.autocast):
    """A block of mixed precision on a CUDA device; there is none, so nothing changes."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cpu", enabled=False)


class GradScaler(amp.GradScaler):
    """Scales losses for a CUDA device; there is none, so it is disabled."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cpu", enabled=False)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtype | None = None) -> Any:
    """A decorator for ``Function.forward`` that changes nothing without a device."""
    return fwd if fwd is not None else lambda function: function


def custom_bwd(bwd: Callable[..., T]) -> Callable[..., T]:
    """A decorator for ``Function.backward`` that changes nothing without a device."""
    return bwd
