"""Blocks in which operators choose their own precision."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.autograd._decorate import decorate


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` supports a device type; only "cpu" is supported.

    >>> is_autocast_available("cpu"), is_autocast_available("cuda")
    (True, False)
    """
    _C.device(device_type)  # raises if there is no such type of device
    return device_type == "cpu"


class autocast:
    """A context manager or decorator in which matrix products run in half precision.

    Matrix products, convolutions and attention cast their arguments to ``dtype`` (bfloat16, the
    default, or float16). Sums, norms, softmax, exponentials, logarithms and losses cast them to
    float32. Other operators do not cast. float64 tensors are never cast. Parameters are cast once
    in a block (``cache_enabled``). Gradients have the dtype of their leaves; call ``backward``
    outside the block. A ``Function`` of your own gets float32, and no autocast inside.

    >>> x, w = genesis.ones(2, 3), genesis.ones(3, 2)
    >>> with autocast():
    ...     y = x @ w
    ...     print(y.dtype, y.sum().dtype)
    genesis.bfloat16 genesis.float32
    """

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: _C.dtype | bool | None = None,
        enabled: bool | _C.dtype | None = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if isinstance(dtype, bool):  # autocast(device_type, enabled, dtype), an older order
            dtype, enabled = None if isinstance(enabled, bool) else enabled, dtype
        enabled = bool(enabled)
        if not isinstance(device_type, str):
            raise TypeError(
                f"autocast: device_type must be a str such as 'cpu', got {device_type!r}"
            )
        if enabled and not is_autocast_available(device_type):
            warnings.warn(
                f"autocast: device_type {device_type!r} is not available, so autocast is disabled; "
                "use 'cpu'",
                stacklevel=2,
            )
            enabled = False
        if enabled and dtype is not None and dtype not in (_C.bfloat16, _C.float16):
            warnings.warn(
                f"autocast: dtype must be bfloat16 or float16, got {dtype}; autocast is disabled",
                stacklevel=2,
            )
            enabled = False
        self.device = device_type
        self.fast_dtype = dtype if enabled else None
        self._enabled = enabled
        self._cache_enabled = cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        self._before.append(_C._autocast_enter(self._enabled, self.fast_dtype, self._cache_enabled))
        return self

    def __exit__(self, *_: object) -> None:
        _C._autocast_exit(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        given = (self.device, self.fast_dtype, self._enabled, self._cache_enabled)
        return decorate(autocast, given, function)


def _state() -> tuple[bool, _C.dtype, bool, bool]:
    """Of this thread: enabled, dtype, caching, and whether a Function disables autocast."""
    state: Any = _C._autocast_state()
    return tuple(state)


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether autocast is enabled in this thread.

    >>> is_autocast_enabled()
    False
    """
    return device_type == "cpu" and _state()[0]


def get_autocast_dtype(device_type: str = "cpu") -> _C.dtype:
    """The dtype of the current ``autocast`` block, or the default dtype.

    >>> get_autocast_dtype("cpu")
    genesis.bfloat16
    """
    if device_type == "cpu":
        return _state()[1]
    _C.device(device_type)  # raises if there is no such type of device
    return _C.float16  # PyTorch's default for other devices


def set_autocast_dtype(device_type: str, dtype: _C.dtype) -> None:
    """Set the default dtype of ``autocast`` blocks.

    >>> set_autocast_dtype("cpu", genesis.bfloat16)
    """
    _require_cpu("set_autocast_dtype", device_type)
    _C._set_autocast_defaults(dtype)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Enable or disable autocast in this thread, until the end of the current block, if any.

    >>> set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cpu", bool(device_type)
    _require_cpu("set_autocast_enabled", str(device_type))
    _C._autocast_set(enabled)


def is_autocast_cpu_enabled() -> bool:
    """The same as ``is_autocast_enabled("cpu")``."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The same as ``set_autocast_enabled("cpu", enabled)``."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> _C.dtype:
    """The same as ``get_autocast_dtype("cpu")``."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: _C.dtype) -> None:
    """The same as ``set_autocast_dtype("cpu", dtype)``."""
    set_autocast_dtype("cpu", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether ``autocast`` blocks cache casts of parameters.

    >>> is_autocast_cache_enabled()
    True
    """
    return _state()[2]


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether ``autocast`` blocks cache casts of parameters by default.

    >>> set_autocast_cache_enabled(True)
    """
    _C._set_autocast_defaults(None, enabled)


def clear_autocast_cache() -> None:
    """Clear the cached casts of parameters. The end of a block does so too.

    >>> clear_autocast_cache()
    """
    _C._clear_autocast_cache()


def _require_cpu(function: str, device_type: str) -> None:
    if device_type != "cpu":
        raise ValueError(f"{function}: device_type must be 'cpu', got {device_type!r}")


def _cast(value: Any, dtype: _C.dtype) -> Any:
    if isinstance(value, Tensor):
        floating = value.is_floating_point() and value.dtype != _C.float64
        return value.to(dtype) if floating else value
    if isinstance(value, dict):
        return {_cast(k, dtype): _cast(v, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, dtype) for v in value)
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str = "cpu",
    cast_inputs: _C.dtype | None = None,
) -> Callable[..., Any]:
    """A decorator for ``forward`` of a ``Function``, which controls its precision under autocast.

    With ``cast_inputs``, floating arguments are cast to that dtype and autocast is disabled in
    forward. Without this decorator, a Function gets float32 arguments.

    >>> class Square(genesis.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(cast_inputs=genesis.float32)
    ...     def forward(ctx, x):
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @custom_bwd
    ...     def backward(ctx, g):
    ...         return g
    >>> Square.apply(genesis.tensor([3.0]))
    tensor([9.])
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    _require_cpu("custom_fwd", device_type)
    forward = fwd

    @functools.wraps(forward)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        enabled, _, _, suspended = _state()
        if cast_inputs is None or not (enabled or suspended):
            return forward(*args, **kwargs)
        with autocast(enabled=False):
            return forward(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorated


def custom_bwd(
    bwd: Callable[..., Any] | None = None, *, device_type: str = "cpu"
) -> Callable[..., Any]:
    """A decorator for ``backward`` of a ``Function``, which disables autocast in it.

    >>> @custom_bwd
    ... def backward(ctx, g):
    ...     return g
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    _require_cpu("custom_bwd", device_type)
    return decorate(autocast, ("cpu", None, False), bwd)
