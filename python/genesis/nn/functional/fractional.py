"""Pooling over windows of slightly different distances, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from genesis import _C
from genesis._C import Tensor

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]

Numbers = int | Sequence[int]


def _several(value: Any, spatial: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * spatial


def _starts(sample: Tensor, size: int, out: int, kernel: int) -> Tensor:
    """Where the windows of each plane begin (Graham, 2014): at the end, the last one ends."""
    last = _C.full((*sample.shape, 1), size - kernel, dtype=_C.int64, device=sample.device)
    if out == 1:
        return last
    step = (size - kernel) / (out - 1)
    places = (_C.arange(out - 1, device=sample.device) + sample.unsqueeze(-1)) * step
    return _C.cat([places.long() - (sample * step).long().unsqueeze(-1), last], -1)


def _pool(
    op: str,
    spatial: int,
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None,
    output_ratio: float | Sequence[float] | None,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    if input.ndim not in (spatial + 1, spatial + 2):
        raise _C.ShapeError(
            f"{op}: input must have {spatial + 1} or {spatial + 2} dimensions, got shape "
            f"{tuple(input.shape)}"
        )
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{op}: pass one of output_size and output_ratio")
    sizes = tuple(input.shape[-spatial:])
    if output_size is None:
        ratios = _several(output_ratio, spatial)
        outs = tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))
    else:
        outs = _several(output_size, spatial)
    kernels = _several(kernel_size, spatial)
    for n, out, k in zip(sizes, outs, kernels, strict=True):
        if not 0 < out <= n - k + 1:
            raise ValueError(
                f"{op}: there is no room for {out} windows of {k} in {n}; output_size may be "
                "between 1 and the input's size - kernel_size + 1"
            )
    x = input if input.ndim == spatial + 2 else input.unsqueeze(0)
    if samples is None:
        samples = _C.rand(*x.shape[:2], spatial, dtype=_C.float64, device=x.device)
    elif (
        samples.ndim != 3
        or samples.shape[0] < x.shape[0]
        or samples.shape[1:] != (x.shape[1], spatial)
    ):
        raise _C.ShapeError(
            f"{op}: _random_samples must have shape {(*x.shape[:2], spatial)}, got "
            f"{tuple(samples.shape)}"
        )
    samples = samples[: x.shape[0]]
    # Two dimensions draw for columns first, three for the outermost.
    order = (1, 0) if spatial == 2 else (0, 1, 2)
    flat = _C.zeros((*x.shape[:2], *(1,) * (2 * spatial)), dtype=_C.int64, device=x.device)
    for d in range(spatial):
        starts = _starts(samples[..., order[d]].double(), sizes[d], outs[d], kernels[d])
        places = starts.unsqueeze(-1) + _C.arange(kernels[d], device=x.device)
        shape = [1] * (2 * spatial)
        shape[d], shape[spatial + d] = outs[d], kernels[d]
        flat = flat * sizes[d] + places.reshape((*x.shape[:2], *shape))
    flat = flat.reshape((*x.shape[:2], prod(outs) * prod(kernels)))
    windows = x.flatten(2).gather(2, flat).reshape((*x.shape[:2], *outs, prod(kernels)))
    values, which = windows.max(-1)
    index = flat.reshape(windows.shape).gather(-1, which.unsqueeze(-1)).squeeze(-1)
    return (values, index) if x is input else (values.squeeze(0), index.squeeze(0))


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = True,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool2d`` with the places of the maxima.

    >>> fractional_max_pool2d_with_indices(genesis.arange(4.0).reshape(1, 2, 2), 2, output_size=1)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
    name = "fractional_max_pool2d"
    return _pool(name, 2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = True,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool3d`` with the places of the maxima.

    >>> x = genesis.arange(8.0).reshape(1, 2, 2, 2)
    >>> fractional_max_pool3d_with_indices(x, 2, output_size=1)
    (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    name = "fractional_max_pool3d"
    return _pool(name, 3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of random windows, to a given size or part of the size (Graham, 2014).

    >>> fractional_max_pool2d(genesis.arange(4.0).reshape(1, 2, 2), 2, output_ratio=0.5)
    tensor([[[3.]]])
    """
    both = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return both if return_indices else both[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The same for volumes.

    >>> fractional_max_pool3d(genesis.arange(8.0).reshape(1, 2, 2, 2), 2, output_size=1)
    tensor([[[[7.]]]])
    """
    both = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return both if return_indices else both[0]
