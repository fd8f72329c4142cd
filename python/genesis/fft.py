"""Discrete Fourier transforms, under PyTorch's names, differentiable to any order.

>>> genesis.fft.rfft(genesis.tensor([1.0, 0.0, 0.0, 0.0]))
tensor([1.+0.j, 1.+0.j, 1.+0.j])

``fft`` returns the whole spectrum, ``rfft`` the first half of the spectrum of a real tensor.
All lengths are supported; those with small prime factors are fastest. ``norm`` selects which
direction is scaled by ``1 / n``: the inverse (``"backward"``, the default), the forward transform
(``"forward"``), or both, by ``1 / sqrt(n)`` (``"ortho"``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from genesis import _C, _overridable
from genesis._C import Tensor
from genesis._legacy import strided

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_Dims = int | Sequence[int] | None


# ---- shared by all transforms --------------------------------------------------------------------


def _scale(op: str, norm: str | None, lengths: Sequence[int], inverse: bool) -> float:
    if norm not in (None, "backward", "forward", "ortho"):
        raise _C.ShapeError(
            f"fft.{op}: norm must be 'backward', 'forward', 'ortho' or None, got {norm!r}"
        )
    count = math.prod(lengths)
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") != inverse else 1.0


def _floating(op: str, x: Tensor) -> Tensor:
    """The input as a float32, float64 or complex tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"fft.{op}: input must be a Tensor, got {type(x).__name__}")
    if x.is_complex() or x.dtype in (_C.float32, _C.float64):
        return x
    if x.is_floating_point():
        raise _C.DTypeError(f"fft.{op}: input of {x.dtype} is not supported; use input.float()")
    return x.to(_C.get_default_dtype())


def _complex(x: Tensor) -> Tensor:
    return x if x.is_complex() else x.to(x.dtype.to_complex())


def _real(op: str, x: Tensor) -> Tensor:
    x = _floating(op, x)
    if x.is_complex():
        raise _C.DTypeError(f"fft.{op}: input must be real, got {x.dtype}; use input.real")
    return x


def _wrapped(op: str, x: Tensor, dim: int) -> int:
    if not -x.dim() <= dim < x.dim():
        raise IndexError(f"fft.{op}: dim {dim} is out of range for shape {tuple(x.shape)}")
    return dim % x.dim()


def _check_length(op: str, n: int) -> None:
    if n < 1:
        raise _C.ShapeError(f"fft.{op}: the length of the transform must be at least 1, got {n}")


def _with_length(x: Tensor, dim: int, n: int) -> Tensor:
    """The tensor trimmed or zero-padded to length n along dim."""
    have = x.shape[dim]
    if have > n:
        return x.narrow(dim, 0, n)
    if have == n:
        return x
    shape = list(x.shape)
    shape[dim] = n - have
    return _C.cat([x, _C.zeros(shape, dtype=x.dtype)], dim)


def _given(out: Tensor | None, result: Tensor) -> Tensor:
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"fft: argument 'out' must be a Tensor, got {type(out).__name__}")
    if result.requires_grad or out.requires_grad:
        raise RuntimeError(
            "fft: out= leaves no trace in the graph, but a tensor here requires grad; omit it, or "
            "call it under no_grad()"
        )
    if not _C.can_cast(result.dtype, out.dtype):
        raise _C.DTypeError(
            f"fft: the result is {result.dtype} and cannot be stored in out, which is {out.dtype}"
        )
    if out.numel() and out.shape != result.shape:
        raise _C.ShapeError(
            f"fft: the result has shape {tuple(result.shape)} and cannot be stored in a tensor of "
            f"shape {tuple(out.shape)}; pass an empty one, or one of that shape"
        )
    return out.resize_(result.shape).copy_(result)


def _lengths(
    op: str, x: Tensor, s: int | Sequence[int] | None, dim: _Dims
) -> tuple[list[int], list[int]]:
    """The dimensions of an n-d transform, and the requested lengths (-1: unchanged)."""
    sizes = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        count = x.dim() if sizes is None else len(sizes)
        if count > x.dim():
            raise _C.ShapeError(
                f"fft.{op}: s has {count} sizes, but the input has shape {tuple(x.shape)}"
            )
        dims = list(range(x.dim() - count, x.dim()))
    else:
        dims = [_wrapped(op, x, d) for d in ([dim] if isinstance(dim, int) else dim)]
    if len(set(dims)) != len(dims):
        raise _C.ShapeError(f"fft.{op}: dim contains a dimension twice: {dim}")
    if sizes is None:
        sizes = [-1] * len(dims)
    if len(sizes) != len(dims):
        raise _C.ShapeError(
            f"fft.{op}: s and dim must have the same length, got {len(sizes)} and {len(dims)}"
        )
    return dims, sizes


def _one_dimension(op: str, n: Any, dim: Any) -> tuple[list[int] | None, list[int]]:
    """n and dim of a one-dimensional transform as s and dim of a transform in n dimensions."""
    for name, value in (("n", n), ("dim", dim)):
        optional = name == "n" and value is None
        if isinstance(value, bool) or not (optional or hasattr(value, "__index__")):
            raise TypeError(f"fft.{op}: {name} must be an int, got {type(value).__name__}")
    if n is None:
        return None, [dim]
    _check_length(op, n)
    return [n], [dim]


def _resized(op: str, x: Tensor, dims: list[int], sizes: list[int]) -> Tensor:
    for d, n in zip(dims, sizes, strict=True):
        _check_length(op, x.shape[d] if n == -1 else n)
        if n != -1:
            x = _with_length(x, d, n)
    return x


def _c2c(
    op: str, x: Tensor, s: Any, dim: _Dims, norm: str | None, inverse: bool, out: Tensor | None
) -> Tensor:
    x = _floating(op, x)
    dims, sizes = _lengths(op, x, s, dim)
    x = _resized(op, _complex(x), dims, sizes)
    scale = _scale(op, norm, [x.shape[d] for d in dims], inverse)
    return _given(out, _C._fft(x, dims, inverse, scale) if dims else x)


def _r2c(
    op: str, x: Tensor, s: Any, dim: _Dims, norm: str | None, inverse: bool, out: Tensor | None
) -> Tensor:
    x = _real(op, x)
    dims, sizes = _lengths(op, x, s, dim)
    if not dims:
        raise _C.ShapeError(f"fft.{op}: dim must contain at least one dimension")
    x = _resized(op, x, dims, sizes)
    scale = _scale(op, norm, [x.shape[d] for d in dims], inverse)
    y = _C._fft_real(x, dims[-1], scale)
    if len(dims) > 1:
        y = _C._fft(y, dims[:-1], False, 1.0)
    return _given(out, y.conj() if inverse else y)


def _c2r(
    op: str, x: Tensor, s: Any, dim: _Dims, norm: str | None, inverse: bool, out: Tensor | None
) -> Tensor:
    x = _complex(_floating(op, x))
    dims, sizes = _lengths(op, x, s, dim)
    if not dims:
        raise _C.ShapeError(f"fft.{op}: dim must contain at least one dimension")
    last = sizes[-1] if sizes[-1] != -1 else 2 * (x.shape[dims[-1]] - 1)
    _check_length(op, last)
    x = _resized(op, x, dims, [*sizes[:-1], last // 2 + 1])
    scale = _scale(op, norm, [*(x.shape[d] for d in dims[:-1]), last], inverse)
    if not inverse:
        x = x.conj()
    if len(dims) > 1:
        x = _C._fft(x, dims[:-1], True, 1.0)
    return _given(out, _C._fft_to_real(x, dims[-1], last, scale))


# ---- one dimension -------------------------------------------------------------------------------


def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along ``dim``: ``y[k] = sum_j x[j] exp(-2 pi i j k / n)``.

    ``n`` is the length of the transform; the input is trimmed or zero-padded to it. The result is
    complex.

    >>> genesis.fft.fft(genesis.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _c2c("fft", input, *_one_dimension("fft", n, dim), norm, False, out)


def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse discrete Fourier transform along ``dim``, the inverse of :func:`fft`."""
    return _c2c("ifft", input, *_one_dimension("ifft", n, dim), norm, True, out)


def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first ``n // 2 + 1`` values of :func:`fft` of a real tensor.

    The other values are the complex conjugates of these.
    """
    return _r2c("rfft", input, *_one_dimension("rfft", n, dim), norm, False, out)


def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of :func:`rfft`: ``n`` real values, by default ``2 * (input.shape[dim] - 1)``."""
    return _c2r("irfft", input, *_one_dimension("irfft", n, dim), norm, True, out)


def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform of a Hermitian signal, given by its first half. The result is real.

    It has ``n`` values, by default ``2 * (input.shape[dim] - 1)``.
    """
    return _c2r("hfft", input, *_one_dimension("hfft", n, dim), norm, False, out)


def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of :func:`hfft`: the first ``n // 2 + 1`` values of the inverse transform."""
    return _r2c("ihfft", input, *_one_dimension("ihfft", n, dim), norm, True, out)


# ---- two dimensions ------------------------------------------------------------------------------


def fft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`fftn` over the last two dimensions."""
    return _c2c("fft2", input, s, dim, norm, False, out)


def ifft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`ifftn` over the last two dimensions."""
    return _c2c("ifft2", input, s, dim, norm, True, out)


def rfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`rfftn` over the last two dimensions."""
    return _r2c("rfft2", input, s, dim, norm, False, out)


def irfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`irfftn` over the last two dimensions."""
    return _c2r("irfft2", input, s, dim, norm, True, out)


def hfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`hfftn` over the last two dimensions."""
    return _c2r("hfft2", input, s, dim, norm, False, out)


def ihfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`ihfftn` over the last two dimensions."""
    return _r2c("ihfft2", input, s, dim, norm, True, out)


# ---- any number of dimensions --------------------------------------------------------------------


def fftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along the dimensions ``dim``.

    ``s`` gives the length along each of them; -1 keeps that of the input. Without ``dim``, the
    transform is along the last ``len(s)`` dimensions, or along all dimensions without ``s``.
    """
    return _c2c("fftn", input, s, dim, norm, False, out)


def ifftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of :func:`fftn`."""
    return _c2c("ifftn", input, s, dim, norm, True, out)


def rfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`fftn` of a real tensor, with only the first half of the last transformed dimension."""
    return _r2c("rfftn", input, s, dim, norm, False, out)


def irfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of :func:`rfftn`."""
    return _c2r("irfftn", input, s, dim, norm, True, out)


def hfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """:func:`hfft` along the last of the dimensions ``dim``, :func:`fft` along the others."""
    return _c2r("hfftn", input, s, dim, norm, False, out)


def ihfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: _Dims = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of :func:`hfftn`."""
    return _r2c("ihfftn", input, s, dim, norm, True, out)


# ---- frequencies ---------------------------------------------------------------------------------


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequency of each value of :func:`fft`, for ``n`` samples with spacing ``d``.

    >>> genesis.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    _check_frequencies("fftfreq", n, dtype, layout)
    counts = _C.cat([_C.arange(0, (n + 1) // 2), _C.arange(-(n // 2), 0)])
    return _frequencies(counts, n * d, out, dtype, device, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequency of each value of :func:`rfft`, for ``n`` samples with spacing ``d``.

    >>> genesis.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    _check_frequencies("rfftfreq", n, dtype, layout)
    counts = _C.arange(0, n // 2 + 1)
    return _frequencies(counts, n * d, out, dtype, device, requires_grad)


def _check_frequencies(op: str, n: int, dtype: Any, layout: Any) -> None:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"fft.{op}: n must be an int, got {type(n).__name__}")
    if layout not in (None, strided):
        raise _C.ShapeError(f"fft.{op}: layout must be strided, got {layout}")
    if n < 0:
        raise _C.ShapeError(f"fft.{op}: n must not be negative, got {n}")
    if dtype is not None and not _C._as_dtype(dtype).is_floating_point:
        raise _C.DTypeError(f"fft.{op}: dtype must be a floating dtype, got {dtype}")


def _frequencies(
    counts: Tensor, span: float, out: Tensor | None, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    values = counts.to(dtype or _C.get_default_dtype(), device=device)
    values = values / span if span == 0 else values * (1 / span)
    return _given(out, values).requires_grad_(requires_grad)


def _shifted(op: str, input: Tensor, dim: _Dims, back: bool) -> Tensor:
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [_wrapped(op, input, d) for d in dims]
    if not dims:
        return input.clone()
    halves = [input.shape[d] // 2 for d in dims]
    return _C.roll(input, [-h for h in halves] if back else halves, dims)


def fftshift(input: Tensor, dim: _Dims = None) -> Tensor:
    """Shift frequency 0 to the center of each dimension ``dim`` (by default, of all dimensions).

    >>> genesis.fft.fftshift(genesis.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted("fftshift", input, dim, False)


def ifftshift(input: Tensor, dim: _Dims = None) -> Tensor:
    """The inverse of :func:`fftshift`.

    >>> genesis.fft.ifftshift(genesis.fft.fftshift(genesis.fft.fftfreq(4)))
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _shifted("ifftshift", input, dim, True)


_overridable.make_overridable(__all__, globals())
