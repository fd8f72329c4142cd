"""Window functions, under the names of ``torch.signal.windows``.

A window has ``M`` values. With ``sym=True`` it is symmetric, for filter design; with ``sym=False``
it is periodic, for spectral analysis.

>>> genesis.signal.windows.hann(4)
tensor([0.0000, 0.7500, 0.7500, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._legacy import strided

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _checked(op: str, M: int, dtype: Any, layout: Any) -> Any:
    """The dtype of the window; raises if an argument is invalid."""
    if not hasattr(M, "__index__"):
        raise TypeError(f"{op}: M must be an int, got {type(M).__name__}")
    if layout not in (None, strided):
        raise ValueError(f"{op}: layout must be strided, got {layout}")
    if M < 0:
        raise ValueError(f"{op}: M must not be negative, got {M}")
    dtype = _C.get_default_dtype() if dtype is None else _C._as_dtype(dtype)
    if dtype not in (_C.float32, _C.float64):
        raise ValueError(f"{op}: dtype must be float32 or float64, got {dtype}")
    return dtype


def _finish(window: Tensor, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    return window.to(dtype, device=device).requires_grad_(requires_grad)


def _steps(M: int, sym: bool) -> tuple[Tensor, int]:
    """0, 1, ..., M - 1, in float64, and the length of the period, at least 1."""
    return _C.arange(M, dtype=_C.float64), max(M - 1 if sym else M, 1)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``a[0] - a[1] * cos(x) + a[2] * cos(2 * x) - ...``, with ``x = 2 * pi * k / (M - 1)``."""
    dtype = _checked("general_cosine", M, dtype, layout)
    a = list(a)
    if not a:
        raise ValueError("general_cosine: a must have at least one coefficient")
    k, period = _steps(M, sym)
    if M == 1:
        return _finish(_C.ones(1), dtype, device, requires_grad)
    angle = k * (2 * math.pi / period)
    window = _C.zeros(M, dtype=_C.float64)
    for i, factor in enumerate(a):
        window = window + (-1) ** i * factor * (angle * i).cos()
    return _finish(window, dtype, device, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """``alpha - (1 - alpha) * cos(2 * pi * k / (M - 1))``."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hamming window."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hann window."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Blackman window."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The minimum 4-term Blackman-Harris window, according to Nuttall."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Bartlett window: triangular, with zeros at both ends."""
    dtype = _checked("bartlett", M, dtype, layout)
    k, period = _steps(M, sym)
    if M == 1:
        return _finish(_C.ones(1), dtype, device, requires_grad)
    return _finish(1 - (k * (2 / period) - 1).abs(), dtype, device, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The cosine window, ``sin(pi * (k + 1 / 2) / M)``."""
    dtype = _checked("cosine", M, dtype, layout)
    k = _C.arange(M, dtype=_C.float64)
    if M == 1:
        return _finish(_C.ones(1), dtype, device, requires_grad)
    window = ((k + 0.5) * (math.pi / (M if sym else M + 1))).sin() if M else k
    return _finish(window, dtype, device, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|k - center| / tau)``. ``center`` must be None for a symmetric window."""
    dtype = _checked("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for a symmetric window")
    k, _ = _steps(M, sym)
    if M == 1 and center is None:
        return _finish(_C.ones(1), dtype, device, requires_grad)
    if center is None:
        center = (M if not sym else M - 1) / 2
    return _finish((-(k - center).abs() / tau).exp(), dtype, device, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Gaussian window, ``exp(-((k - center) / std) ** 2 / 2)``, with center ``(M - 1) / 2``."""
    dtype = _checked("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"gaussian: std must be positive, got {std}")
    k, _ = _steps(M, sym)
    if M == 1:
        return _finish(_C.ones(1), dtype, device, requires_grad)
    distance = (k - (M if not sym else M - 1) / 2) / std
    return _finish((distance * distance * -0.5).exp(), dtype, device, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window with shape parameter ``beta``."""
    dtype = _checked("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"kaiser: beta must not be negative, got {beta}")
    k, period = _steps(M, sym)
    if M == 1:
        return _finish(_C.ones(1), dtype, device, requires_grad)
    x = k * (2 / period) - 1
    root = (1 - x * x).clamp(min=0).sqrt()
    window = (root * beta).i0() / _C.tensor(beta, dtype=_C.float64).i0()
    return _finish(window, dtype, device, requires_grad)
