"""Composite operators written in Python: finite differences, histograms, segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor

__all__ = [
    "gradient",
    "histogramdd",
    "nonzero_static",
    "norm_except_dim",
    "segment_reduce",
    "unravel_index",
]


# ---- finite differences ------------------------------------------------------------------------


def _coordinates(spacing: Any, dims: list[int], x: Tensor) -> list[Any]:
    """A number or a tensor of coordinates for each dimension."""
    if isinstance(spacing, (int, float)):
        return [float(spacing)] * len(dims)
    if isinstance(spacing, Tensor):
        spacing = [spacing]
    given = list(spacing)
    if len(given) != len(dims):
        raise _C.ShapeError(
            f"gradient: spacing has {len(given)} elements for {len(dims)} dimensions of an input "
            f"of shape {tuple(x.shape)}"
        )
    for d, s in zip(dims, given, strict=True):
        if isinstance(s, Tensor) and tuple(s.shape) != (x.shape[d],):
            raise _C.ShapeError(
                f"gradient: spacing for dimension {d} must have shape ({x.shape[d]},), got "
                f"{tuple(s.shape)}"
            )
    return given


def _along(x: Tensor, spacing: Any, d: int, edge_order: int) -> Tensor:
    """Differences of second order inside, of `edge_order` at the ends."""
    n = x.shape[d]

    def at(first: int, last: int) -> Tensor:
        return x.narrow(d, first if first >= 0 else n + first, last - first)

    if isinstance(spacing, Tensor):
        steps = spacing.diff().to(x.dtype)
        shape = [1] * x.ndim
        shape[d] = n - 1
        h = steps.reshape(shape)
        before, after = h.narrow(d, 0, n - 2), h.narrow(d, 1, n - 2)
    else:
        h = _C.full([n - 1 if k == d else 1 for k in range(x.ndim)], spacing, dtype=x.dtype)
        before, after = h.narrow(d, 0, n - 2), h.narrow(d, 1, n - 2)
    inner = (
        -after / (before * (before + after)) * at(0, n - 2)
        + (after - before) / (before * after) * at(1, n - 1)
        + before / (after * (before + after)) * at(2, n)
    )

    def end(sign: int) -> Tensor:
        """The one-sided difference at the first element (sign 1) or at the last (-1)."""
        y = [x.narrow(d, k if sign > 0 else n - 1 - k, 1) for k in range(edge_order + 1)]
        step = [h.narrow(d, k if sign > 0 else n - 2 - k, 1) for k in range(edge_order)]
        if edge_order == 1:
            return sign * (y[1] - y[0]) / step[0]
        a, b = step
        return sign * (
            -(2 * a + b) / (a * (a + b)) * y[0]
            + (a + b) / (a * b) * y[1]
            - a / (b * (a + b)) * y[2]
        )

    return _C.cat([end(1), inner, end(-1)], d)


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """Estimates of the derivative along each of some dimensions, by central differences.

    ``spacing`` is the distance of neighbours, one for each dimension, or tensors with the
    coordinates along them.

    >>> genesis.gradient(genesis.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    if spacing is None:
        spacing = 1
    if dim is None:
        several = not isinstance(spacing, (int, float, Tensor))
        dims = list(range(len(spacing) if several else input.ndim))
        if several and len(spacing) != input.ndim:
            raise _C.ShapeError(
                f"gradient: spacing has {len(spacing)} elements for an input of shape "
                f"{tuple(input.shape)}; pass one for each dimension, or dim"
            )
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    for k, d in enumerate(dims):
        if not -input.ndim <= d < input.ndim:
            raise IndexError(f"gradient: dim {d} is out of range for shape {tuple(input.shape)}")
        dims[k] = d % input.ndim
    if len(set(dims)) != len(dims):
        raise _C.ShapeError(f"gradient: dim must name different dimensions, got {dim}")
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise _C.ShapeError(
                f"gradient: dimension {d} of an input of shape {tuple(input.shape)} must have at "
                f"least edge_order + 1 = {edge_order + 1} elements"
            )
    fractional = input.is_floating_point() or input.is_complex()
    x = input if fractional else input.to(_C.get_default_dtype())
    return tuple(
        _along(x, s, d, edge_order)
        for s, d in zip(_coordinates(spacing, dims, input), dims, strict=True)
    )


# ---- histograms --------------------------------------------------------------------------------


class _Histogram(tuple[Any, ...]):
    """hist and bin_edges, by name and by place."""

    __slots__ = ()
    hist = property(lambda self: self[0])
    bin_edges = property(lambda self: self[1])

    def __new__(cls, hist: Tensor, bin_edges: tuple[Tensor, ...]) -> _Histogram:
        return super().__new__(cls, (hist, bin_edges))

    def __repr__(self) -> str:
        return f"genesis.return_types.histogramdd(\nhist={self[0]!r},\nbin_edges={self[1]!r})"


def _edges(points: Tensor, bins: Any, range: Sequence[float] | None) -> list[Tensor]:
    n = points.shape[1]
    counts = [bins] * n if isinstance(bins, int) else list(bins)
    if len(counts) != n:
        raise ValueError(
            f"histogramdd: bins has {len(counts)} elements for points of {n} coordinates"
        )
    if range is not None and len(range) != 2 * n:
        raise ValueError(
            f"histogramdd: range must have {2 * n} numbers, a lower and an upper one for each "
            f"coordinate, got {len(range)}"
        )
    made = []
    for d, count in enumerate(counts):
        if isinstance(count, Tensor):
            made.append(count)
            continue
        if count < 1:
            raise ValueError(f"histogramdd: bins must be positive, got {count}")
        if range is not None:
            low, high = range[2 * d], range[2 * d + 1]
        elif points.shape[0]:
            low, high = points[:, d].min().item(), points[:, d].max().item()
        else:
            low, high = 0.0, 1.0
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(f"histogramdd: range of coordinate {d} is ({low}, {high})")
        if low == high:
            low, high = low - 0.5, high + 0.5
        made.append(_C.linspace(low, high, count + 1, dtype=points.dtype))
    return made


def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The number of points in each box of a grid; the last dimension contains coordinates.

    ``bins`` is a number of equal bins, one for each coordinate, or their edges.

    >>> points = genesis.tensor([[0.0, 0.0], [0.9, 0.2], [1.0, 1.0]])
    >>> genesis.histogramdd(points, 2).hist
    tensor([[1., 0.],
            [1., 1.]])
    """
    if not input.is_floating_point():
        raise TypeError(
            f"histogramdd: input must be floating, got {input.dtype}; use input.float()"
        )
    if input.ndim < 2:
        raise _C.ShapeError(
            f"histogramdd: input must have at least 2 dimensions, the last for coordinates, got "
            f"shape {tuple(input.shape)}"
        )
    points = input.detach().reshape(-1, input.shape[-1])
    weights = (
        _C.ones(points.shape[0], dtype=input.dtype)
        if weight is None
        else weight.detach().to(input.dtype).reshape(-1)
    )
    if weights.numel() != points.shape[0]:
        raise _C.ShapeError(
            f"histogramdd: weight must have shape {tuple(input.shape[:-1])}, got "
            f"{tuple(weight.shape) if weight is not None else ()}"
        )
    edges = _edges(points, bins, range)
    sizes = [e.numel() - 1 for e in edges]
    inside = _C.ones(points.shape[0], dtype=_C.bool)
    index = _C.zeros(points.shape[0], dtype=_C.int64)
    for d, e in enumerate(edges):
        x = points[:, d].contiguous()
        inside &= (x >= e[0]) & (x <= e[-1])
        index = index * sizes[d] + (_C.searchsorted(e, x, right=True) - 1).clamp(0, sizes[d] - 1)
    index, weights = index[inside], weights[inside]
    hist = _C.zeros(math.prod(sizes), dtype=input.dtype).index_add(0, index, weights)
    hist = hist.reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            shape = [1] * len(sizes)
            shape[d] = sizes[d]
            hist = hist / e.diff().reshape(shape)
    return _Histogram(hist, tuple(edges))


# ---- indices -----------------------------------------------------------------------------------


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, in a tensor of ``shape``, of elements that are numbered row by row.

    >>> genesis.unravel_index(genesis.tensor([4, 1]), (3, 2))
    (tensor([2, 0]), tensor([0, 1]))
    """
    if indices.is_floating_point() or indices.dtype == _C.bool:
        raise TypeError(
            f"unravel_index: indices must be integers, got {indices.dtype}; use indices.long()"
        )
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    if any(n < 0 for n in sizes):
        raise _C.ShapeError(f"unravel_index: shape must not be negative, got {tuple(sizes)}")
    found: list[Tensor] = []
    step = 1
    for n in reversed(sizes):
        found.append(indices.div(step, rounding_mode="floor") % n)
        step *= n
    return tuple(reversed(found))


def nonzero_static(
    input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None
) -> Tensor:
    """nonzero() cut or filled up to ``size`` rows.

    >>> genesis.nonzero_static(genesis.tensor([0, 3, 5]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise ValueError(f"nonzero_static: size must not be negative, got {size}")
    found = input.nonzero()[:size]
    rest = _C.full((size - found.shape[0], found.shape[1]), fill_value, dtype=_C.int64)
    return _C.cat([found, rest], out=out)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which are kept with size 1; -1 keeps none."""
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    return v.norm(pow, others, True) if others else v.abs()


_SEGMENTS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}
_EMPTY = {"sum": 0.0, "mean": math.nan, "max": -math.inf, "min": math.inf, "prod": 1.0}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduces runs of neighbours along ``axis``, whose lengths (or offsets) are given.

    >>> x = genesis.tensor([1.0, 2.0, 3.0])
    >>> genesis.segment_reduce(x, "sum", lengths=genesis.tensor([1, 2]))
    tensor([1., 5.])
    """
    if reduce not in _SEGMENTS:
        raise ValueError(
            f"segment_reduce: reduce must be one of {', '.join(_SEGMENTS)}, got {reduce!r}"
        )
    if indices is not None:
        raise _C.ShapeError("segment_reduce: pass lengths or offsets in place of indices")
    if (lengths is None) == (offsets is None):
        raise _C.ShapeError("segment_reduce: pass lengths or offsets, one of them")
    if offsets is not None:
        lengths = offsets.diff(dim=-1)
    assert lengths is not None
    axis %= data.ndim
    if lengths.ndim != axis + 1 or tuple(lengths.shape[:-1]) != tuple(data.shape[:axis]):
        raise _C.ShapeError(
            f"segment_reduce: lengths of shape {tuple(lengths.shape)} do not fit data of shape "
            f"{tuple(data.shape)} along axis {axis}"
        )
    fits = unsafe or not lengths.numel()
    if not (fits or (int(lengths.min()) >= 0 and (lengths.sum(-1) == data.shape[axis]).all())):
        raise _C.ShapeError(
            f"segment_reduce: lengths must not be negative and must add up to the size of axis "
            f"{axis}, {data.shape[axis]}"
        )
    count = lengths.shape[-1]
    # Which segment each element of the axis belongs to, spread over the dimensions behind it.
    ends = lengths.cumsum(-1)
    place = _C.arange(data.shape[axis]).expand(*data.shape[:axis], data.shape[axis])
    owner = _C.searchsorted(ends.contiguous(), place.contiguous(), right=True)
    behind = data.ndim - axis - 1
    index = owner.reshape(*owner.shape, *[1] * behind).expand(tuple(data.shape))
    shape = [*data.shape[:axis], count, *data.shape[axis + 1 :]]
    start = _EMPTY[reduce] if initial is None else initial
    result = _C.full(shape, start, dtype=data.dtype).scatter_reduce(
        axis, index, data, _SEGMENTS[reduce], include_self=initial is not None and reduce != "mean"
    )
    if reduce == "mean" and initial is not None:
        empty = (lengths == 0).reshape(*lengths.shape, *[1] * behind)
        result = _C.where(empty, initial, result)
    return result


for _name in __all__:
    globals()[_name] = _C._overridable(globals()[_name])
