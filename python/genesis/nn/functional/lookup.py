"""Rows of a table, by number."""

from __future__ import annotations

from genesis import _C
from genesis._C import Tensor

__all__ = ["embedding", "embedding_bag"]


def _rows(
    input: Tensor, weight: Tensor, padding_idx: int | None, by_frequency: bool, sparse: bool
) -> Tensor:
    """Rows of the table, whose gradient is dense or sparse."""
    if not sparse:
        return _C.embedding(input, weight, padding_idx, by_frequency)
    from genesis.sparse import _embedding

    return _embedding.embedding(input, weight, padding_idx, by_frequency)


def renormalize(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale rows that are looked up down to a norm of at most ``max_norm``, in place."""
    with _C.no_grad():
        rows = _C.unique(index)
        values = weight.index_select(0, rows)
        norm = _C.linalg_vector_norm(values, norm_type, 1, True)
        scale = _C.where(norm > max_norm, max_norm / (norm + 1e-7), _C.ones_like(norm))
        weight.index_copy_(0, rows, values * scale)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` whose numbers are in ``input``.

    The row ``padding_idx`` gets no gradient. With ``max_norm``, rows that are looked up are first
    scaled down, in place, to that norm. With ``scale_grad_by_freq``, the gradient of a row is
    divided by the number of times it occurs. With ``sparse``, the gradient of ``weight`` is a
    sparse tensor, which ``SparseAdam``, ``SGD`` and ``Adagrad`` take.

    >>> embedding(genesis.tensor([1, 0]), genesis.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    return _rows(input, weight, padding_idx, scale_grad_by_freq, sparse)


def _bag_numbers(
    input: Tensor, offsets: Tensor | None, include_last_offset: bool
) -> tuple[Tensor, int]:
    """The bag of each element of a 1-d input, and how many bags there are."""
    if offsets is None or offsets.ndim != 1:
        raise ValueError("embedding_bag: a 1-d input needs 1-d offsets, where bags begin")
    total = input.shape[0]
    bounds = [int(i) for i in offsets.tolist()]
    if include_last_offset:
        if not bounds or bounds[-1] != total:
            raise _C.ShapeError(
                f"embedding_bag: the last offset must be the length of the input, {total}, with "
                f"include_last_offset, got {bounds}"
            )
        bounds = bounds[:-1]
    if (bounds and bounds[0] != 0) or bounds != sorted(bounds) or (bounds and bounds[-1] > total):
        raise _C.ShapeError(
            f"embedding_bag: offsets must begin with 0, not fall, and not be above {total}, the "
            f"length of the input, got {bounds}"
        )
    if not bounds and total:
        raise ValueError("embedding_bag: there are no offsets, so the input is in no bag")
    starts = offsets[: len(bounds)]
    return _C.searchsorted(
        starts, _C.arange(total, dtype=starts.dtype, device=starts.device), right=True
    ) - 1, len(bounds)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima (``mode``) of embeddings, bag by bag.

    A bag is a row of a 2-d input, or a piece of a 1-d input, which begins at one of ``offsets``.
    ``per_sample_weights`` scale the terms of a sum. Elements equal to ``padding_idx`` are left out.
    An empty bag gives zeros.

    >>> table = genesis.tensor([[1.0], [2.0], [4.0]])
    >>> embedding_bag(genesis.tensor([0, 1, 2]), table, genesis.tensor([0, 2]), mode="sum")
    tensor([[3.],
            [4.]])
    """
    if sparse and (mode == "max" or scale_grad_by_freq):
        raise ValueError(
            "embedding_bag: sparse=True needs mode 'sum' or 'mean' and scale_grad_by_freq=False"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag: mode must be 'sum', 'mean' or 'max', got {mode!r}")
    if per_sample_weights is not None:
        if mode != "sum":
            raise ValueError(f"embedding_bag: per_sample_weights need mode='sum', got {mode!r}")
        if per_sample_weights.shape != input.shape:
            raise _C.ShapeError(
                f"embedding_bag: per_sample_weights must have the shape of the input, "
                f"{tuple(input.shape)}, got {tuple(per_sample_weights.shape)}"
            )
        per_sample_weights = per_sample_weights.reshape(-1)
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: the bags of a 2-d input are its rows; pass no offsets")
        bags = input.shape[0]
        plain = padding_idx is None and per_sample_weights is None and mode != "max" and not sparse
        if plain and input.shape[1] > 0 and weight.dtype in (_C.float32, _C.float64):
            if max_norm is not None:
                renormalize(weight, input, max_norm, norm_type)
            return _C._embedding_bag(input, weight, mode == "mean", scale_grad_by_freq)
        bag = _C.arange(bags, device=input.device).repeat_interleave(input.shape[1])
        input = input.reshape(-1)
    elif input.ndim == 1:
        bag, bags = _bag_numbers(input, offsets, include_last_offset)
    else:
        raise _C.ShapeError(
            f"embedding_bag: the input must be 1-d or 2-d, got {tuple(input.shape)}"
        )
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    if padding_idx is not None:
        row = padding_idx % weight.shape[0]
        kept = (input != row).nonzero().reshape(-1)
        input, bag = input[kept], bag[kept]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[kept]
    rows = _rows(input, weight, None, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    empty = _C.zeros(bags, weight.shape[1], dtype=rows.dtype, device=rows.device)
    if mode == "max":
        where = bag.unsqueeze(1).expand(rows.shape)
        return empty.scatter_reduce(0, where, rows, "amax", include_self=False)
    total = empty.index_add(0, bag, rows)
    if mode == "sum":
        return total
    count = _C.bincount(bag, minlength=bags).clamp(min=1).to(rows.dtype)
    return total / count.unsqueeze(1)
