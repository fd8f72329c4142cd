"""Images at other sizes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from genesis import _C
from genesis._C import Tensor
from genesis.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

# The mode, and how many dimensions its input has with batch and channels.
_MODES = {
    "nearest": ("nearest", (3, 4, 5)),
    "nearest-exact": ("nearest-exact", (3, 4, 5)),
    "area": ("area", (3, 4, 5)),
    "linear": ("linear", (3,)),
    "bilinear": ("linear", (4,)),
    "trilinear": ("linear", (5,)),
    "bicubic": ("cubic", (4,)),
}


def _sizes(
    input: Tensor,
    size: int | Sequence[int] | None,
    scale_factor: float | Sequence[float] | None,
) -> tuple[list[int], list[float] | None]:
    """The spatial size of the result, and the factors that the user gave."""
    spatial = input.dim() - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: pass one of size and scale_factor")
    if size is not None:
        sizes = list(size) if isinstance(size, Sequence) else [size] * spatial
        if len(sizes) != spatial:
            raise _C.ShapeError(
                f"interpolate: size must be one number or {spatial} for input of shape "
                f"{tuple(input.shape)}, got {size}"
            )
        return [int(n) for n in sizes], None
    assert scale_factor is not None
    scales = list(scale_factor) if isinstance(scale_factor, Sequence) else [scale_factor] * spatial
    if len(scales) != spatial:
        raise _C.ShapeError(
            f"interpolate: scale_factor must be one number or {spatial} for input of shape "
            f"{tuple(input.shape)}, got {scale_factor}"
        )
    sizes = [math.floor(n * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    return sizes, [float(s) for s in scales]


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """``input`` (batch, channels, then 1 to 3 dimensions) at another size.

    ``mode`` is nearest, nearest-exact, area, linear (1 dimension), bilinear or bicubic (2),
    trilinear (3). ``align_corners`` keeps the centres of the corner pixels in place rather than the
    outer edges. With ``recompute_scale_factor`` pixels are placed by the rounded size, not by
    ``scale_factor``. ``antialias`` (bilinear, bicubic) lets every pixel count when it shrinks.

    >>> x = genesis.tensor([[[1.0, 2.0]]])
    >>> interpolate(x, scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    >>> interpolate(x, size=4, mode="linear")
    tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    if mode not in _MODES:
        raise ValueError(f"interpolate: mode must be one of {', '.join(_MODES)}; got {mode!r}")
    kind, dims = _MODES[mode]
    if input.dim() not in dims:
        raise _C.ShapeError(
            f"interpolate: mode {mode!r} takes input of {' or '.join(map(str, dims))} dimensions "
            f"(batch, channels, then the spatial ones), got shape {tuple(input.shape)}"
        )
    if kind not in ("linear", "cubic") and align_corners is not None:
        raise ValueError(
            "interpolate: align_corners goes with mode linear, bilinear, bicubic or trilinear, "
            f"not with {mode!r}; leave it None"
        )
    if antialias and (mode not in ("bilinear", "bicubic") or align_corners):
        raise ValueError(
            "interpolate: antialias goes with mode bilinear or bicubic and align_corners=False only"
        )
    if recompute_scale_factor and size is not None:
        raise ValueError(
            "interpolate: recompute_scale_factor goes with scale_factor, not with size"
        )
    sizes, scales = _sizes(input, size, scale_factor)
    if recompute_scale_factor:
        scales = None
    if kind == "area":
        pools = adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
        return pools[len(sizes) - 1](input, sizes)
    return _C._resample(input, sizes, kind, bool(align_corners), antialias, scales)


def _deprecated(name: str) -> None:
    warnings.warn(f"{name} is deprecated; use interpolate", DeprecationWarning, stacklevel=3)


def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of ``interpolate``; it warns.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     upsample(genesis.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """``interpolate`` with ``mode="nearest"``; it warns.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     upsample_nearest(genesis.tensor([[[1.0, 2.0]]]), size=4)
    tensor([[[1., 1., 2., 2.]]])
    """
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """``interpolate`` with ``mode="bilinear", align_corners=True``; it warns.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     upsample_bilinear(genesis.tensor([[[[0.0, 2.0]]]]), size=(1, 3))
    tensor([[[[0., 1., 2.]]]])
    """
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
