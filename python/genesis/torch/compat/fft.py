"""Fourier transforms. Frequencies and shifts are computed; transforms need complex tensors.

Packages import this module whether or not they transform anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from genesis import _C
from genesis._C import Tensor

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]

_TRANSFORMS = (
    "fft", "fft2", "fftn", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftn",
)  # fmt: skip


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of ``n`` samples, ``d`` apart.

    >>> fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    counts = _C.cat([_C.arange(0, (n + 1) // 2), _C.arange(-(n // 2), 0)])
    return counts.to(dtype or _C.get_default_dtype(), device=device) / (n * d)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of a transform of real samples, which are not negative.

    >>> rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _C.arange(0, n // 2 + 1).to(dtype or _C.get_default_dtype(), device=device) / (n * d)


def _dims(input: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    if dim is None:
        return list(range(input.dim()))
    return [dim] if isinstance(dim, int) else list(dim)


def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Frequency 0 in the middle.

    >>> fftshift(fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    dims = _dims(input, dim)
    return _C.roll(input, [input.shape[d] // 2 for d in dims], dims)


def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> ifftshift(fftshift(fftfreq(4)))
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    dims = _dims(input, dim)
    return _C.roll(input, [-(input.shape[d] // 2) for d in dims], dims)


def _transform(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"fft.{name}: Genesis has no complex tensors; transform arrays with numpy.fft.{name}"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in _TRANSFORMS:
    globals()[_name] = _transform(_name)
