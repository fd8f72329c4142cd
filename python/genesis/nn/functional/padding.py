"""Values around a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from genesis import _C
from genesis._C import Tensor

__all__ = ["pad"]


def _check_size(mode: str, input: Tensor, dim: int, before: int, after: int) -> None:
    size = input.shape[dim]
    most = {"reflect": size - 1, "circular": size}.get(mode, max(before, after))
    if before > most or after > most:
        raise _C.ShapeError(
            f"pad: mode {mode!r} can add at most {most} elements on a side of dimension {dim}, "
            f"which has size {size}, got {(before, after)}"
        )
    if size == 0 and (before > 0 or after > 0):
        raise _C.ShapeError(
            f"pad: mode {mode!r} has nothing to take values from in dimension {dim} of shape "
            f"{tuple(input.shape)}"
        )
    if size + before + after < 0:
        raise _C.ShapeError(
            f"pad: paddings {(before, after)} leave nothing of dimension {dim} of size {size}"
        )


def _source(mode: str, size: int, before: int, after: int, device: _C.device) -> Tensor:
    """The source of each element of a padded dimension."""
    if mode == "circular":  # of the remaining elements after cropping
        first, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
        index = _C.arange(-max(before, 0), kept + max(after, 0), device=device)
        return index % max(kept, 1) + first
    index = _C.arange(-before, size + after, device=device)
    if mode == "replicate":
        return index.clamp(0, size - 1)
    return (size - 1) - ((size - 1) - index.abs()).abs()


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """The input with values around it: ``pad`` is (left, right, top, bottom, ...), from the last
    dimension on; negative numbers cut elements off.

    ``mode`` is "constant" (``value``, or 0), "reflect", "replicate" or "circular". The last three
    pad the last 1, 2 or 3 dimensions of a tensor that has one or two more, as images have.

    >>> pad(genesis.tensor([[1.0, 2.0]]), (1, 1), mode="replicate")
    tensor([[1., 1., 2., 2.]])
    """
    if mode == "constant":
        return _C.constant_pad_nd(input, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise ValueError(
            "pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got " + repr(mode)
        )
    if value is not None and value != 0:
        raise ValueError(f"pad: mode {mode!r} takes no value, got {value}")
    dims = len(pad) // 2
    if len(pad) % 2 or not 1 <= dims <= 3 or input.ndim not in (dims + 1, dims + 2):
        raise _C.ShapeError(
            f"pad: mode {mode!r} takes 2, 4 or 6 paddings for a tensor with one or two dimensions "
            f"more than are padded, got {len(pad)} paddings for shape {tuple(input.shape)}"
        )
    for i in range(dims):
        dim, (before, after) = input.ndim - 1 - i, pad[2 * i : 2 * i + 2]
        if before or after:
            _check_size(mode, input, dim, before, after)
            source = _source(mode, input.shape[dim], before, after, input.device)
            input = _C.index_select(input, dim, source)
    return input
