"""Process-wide switches of PyTorch."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import device

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_deterministic = False
_warn_only = False
_warn_always = False
_precision = "highest"
_interop_threads = 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that do not change from run to run. They never do here.

    >>> genesis.use_deterministic_algorithms(True)
    >>> genesis.are_deterministic_algorithms_enabled()
    True
    >>> genesis.use_deterministic_algorithms(False)
    """
    global _deterministic, _warn_only
    _deterministic, _warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic results were requested."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether operators that cannot be deterministic are to warn instead of raising."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same switch as a number or a word: "default", "warn" or "error"."""
    modes: dict[int | str, int] = {0: 0, 1: 1, 2: 2, "default": 0, "warn": 1, "error": 2}
    if debug_mode not in modes:
        raise ValueError(
            f"set_deterministic_debug_mode: expected 0, 1, 2, 'default', 'warn' or 'error', got "
            f"{debug_mode!r}"
        )
    mode = modes[debug_mode]
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: see ``set_deterministic_debug_mode``."""
    return (1 if _warn_only else 2) if _deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 with less precision; they are exact to float32 all the same."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"set_float32_matmul_precision: expected 'highest', 'high' or 'medium', got "
            f"{precision!r}"
        )
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What was set."""
    return _precision


def set_warn_always(b: bool, /) -> None:
    """Ask for warnings every time, not only once."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What was set."""
    return _warn_always


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether the treatment of denormal numbers could be changed: no, it is fixed."""
    return False


def get_num_interop_threads() -> int:
    """How many operators may run at once."""
    return _interop_threads


def set_num_interop_threads(num: int, /) -> None:
    """How many operators may run at once; one after the other is how they run here."""
    global _interop_threads
    if not isinstance(num, int) or num < 1:
        raise ValueError(f"set_num_interop_threads: expected a positive int, got {num!r}")
    _interop_threads = num


def get_default_device() -> device:
    """Where tensors are made if a call does not say.

    >>> genesis.get_default_device()
    device(type='cpu')
    """
    return _C._default_device()


def set_default_device(device: Any = None, *, device_str: Any = None) -> None:
    """Say where this thread makes tensors: "cpu", "meta", or None for the CPU.

    >>> genesis.set_default_device("meta")
    >>> genesis.ones(2, 3)
    tensor(..., device='meta', size=(2, 3))
    >>> genesis.set_default_device(None)
    """
    _C._set_default_device(device_str if device is None else device)


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device, by default that of the CPU.

    >>> genesis.get_device_module().__name__
    'genesis.cpu'
    """
    import importlib

    kind = "cpu" if device is None else _C.device(device).type
    try:
        return importlib.import_module(f"genesis.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"get_device_module: there is no module for device {kind!r}") from None
