"""Dropout of elements or channels, also preserving mean and variance for SELU."""

from __future__ import annotations

import math
import warnings

from genesis import _C
from genesis._C import Tensor

__all__ = ["alpha_dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

_ALPHA = 1.7580993408473766  # what SELU tends to far below 0, without its sign


def _check_p(name: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")


def _channels(
    name: str, input: Tensor, dims: int, p: float, training: bool, inplace: bool
) -> Tensor:
    """Zero channels of (N, C, ...) with ``dims`` further dimensions, or of (C, ...)."""
    _check_p(name, p)
    if not training or p == 0:
        return input
    batch = input.shape[:1] if input.ndim == dims + 2 else ()
    shape = (*batch, input.shape[len(batch)], *(1 for _ in range(dims)))
    noise = _C.dropout(_C.ones(shape, dtype=input.dtype, device=input.device), p, True)
    return input.mul_(noise) if inplace else input * noise


def _expect_dims(name: str, input: Tensor, dims: int) -> None:
    """Warn, as PyTorch does, about an input without ``dims`` dimensions besides its channels."""
    if input.ndim < 2:
        raise _C.ShapeError(
            f"{name}: expected (N, C, ...) with {dims} more dimensions, got shape "
            f"{tuple(input.shape)}; dropout() zeroes single elements"
        )
    if input.ndim not in (dims + 1, dims + 2):
        warnings.warn(
            f"{name}: Received a {input.ndim}-D input, of which dimension 1 is taken for the "
            f"channels; {name} expects {dims + 1}-D or {dims + 2}-D inputs. Use dropout to zero "
            "single elements",
            stacklevel=3,
        )


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero entire channels of (N, C, L) or (C, L) with probability p, and scale the others up.

    >>> x = genesis.ones(1, 100, 3)
    >>> sorted(set(dropout1d(x).sum(-1).flatten().tolist()))
    [0.0, 6.0]
    """
    if input.ndim not in (2, 3):
        raise _C.ShapeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input of shape "
            f"{tuple(input.shape)}; dropout() zeroes single elements"
        )
    return _channels("dropout1d", input, 1, p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero entire channels of (N, C, H, W) with probability p, and scale the others up.

    As in PyTorch, a tensor of three dimensions is taken for (N, C, L), and one of another number
    than three or four gets a warning: channels are then dimension 1.

    >>> sorted(set(dropout2d(genesis.ones(1, 100, 2, 2)).sum((2, 3)).flatten().tolist()))
    [0.0, 8.0]
    """
    _expect_dims("dropout2d", input, 2)
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L). Use dropout1d.",
            stacklevel=2,
        )
    return _channels("dropout2d", input, input.ndim - 2, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero entire channels of (N, C, D, H, W) or (C, D, H, W) with probability p.

    >>> sorted(set(dropout3d(genesis.ones(100, 1, 2, 2)).sum((1, 2, 3)).tolist()))
    [0.0, 8.0]
    """
    _expect_dims("dropout3d", input, 3)
    dims = 3 if input.ndim in (4, 5) else input.ndim - 2
    return _channels("dropout3d", input, dims, p, training, inplace)


def _alpha_dropout(input: Tensor, shape: tuple[int, ...], p: float, inplace: bool) -> Tensor:
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    scale = 1 / math.sqrt((_ALPHA**2 * p + 1) * (1 - p))
    with _C.no_grad():
        kept = _C.full(shape, 1 - p, dtype=input.dtype, device=input.device).bernoulli()
        shift = (kept - 1) * (_ALPHA * scale) + _ALPHA * scale * p
        kept = kept * scale
    return input.mul_(kept).add_(shift) if inplace else input * kept + shift


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Set elements to what SELU tends to far below 0, with probability p, so that mean 0 and
    variance 1 stay.

    >>> genesis.unique(alpha_dropout(genesis.zeros(100), training=True)).numel()
    2
    """
    _check_p("alpha_dropout", p)
    if not training or p == 0:
        return input
    return _alpha_dropout(input, tuple(input.shape), p, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """``alpha_dropout`` of entire channels of (N, C, ...).

    >>> y = feature_alpha_dropout(genesis.zeros(2, 50, 3), training=True)
    >>> bool((y == y[:, :, :1]).all())
    True
    """
    _check_p("feature_alpha_dropout", p)
    if not training or p == 0:
        return input
    if input.ndim < 2:
        raise _C.ShapeError(
            f"feature_alpha_dropout: expected (N, C, ...), got shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:2], *(1 for _ in input.shape[2:]))
    return _alpha_dropout(input, shape, p, inplace)
