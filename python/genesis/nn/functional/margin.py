"""Losses that require a margin between what should be near and what should be far.

``reduction`` and its older names are as in ``loss``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from genesis import _C
from genesis._C import Tensor
from genesis.nn.functional.distance import pairwise_distance
from genesis.nn.functional.loss import _older, _reduced

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance x where y is 1, max(0, margin - x) where y is -1.

    >>> hinge_embedding_loss(genesis.tensor([0.5, 0.2]), genesis.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.8000])
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    zero = _C.zeros_like(input)
    far = _C.where(target != 1, (margin - input).clamp(min=0), zero)
    near = _C.where(target != -1, input, zero)
    return _reduced(far + near, reduction, "hinge_embedding_loss")


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -y (x1 - x2) + margin): for y = 1, x1 should be larger, for y = -1, x2.

    >>> one = genesis.ones(2)
    >>> margin_ranking_loss(genesis.tensor([2.0, 1.0]), genesis.tensor([1.0, 3.0]), one)
    tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise _C.ShapeError(
            "margin_ranking_loss: all arguments must have as many dimensions, got shapes "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}"
        )
    loss = (margin - target * (input1 - input2)).clamp(min=0)
    return _reduced(loss, reduction, "margin_ranking_loss")


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-y x)), for y of 1 or -1.

    >>> soft_margin_loss(genesis.zeros(2), genesis.tensor([1.0, -1.0]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    loss = _C.softplus(-target * input, threshold=math.inf)
    return _reduced(loss, reduction, "soft_margin_loss")


def _batched(op: str, input: Tensor, target: Tensor, target_dims: int) -> tuple[Tensor, Tensor]:
    """Scores as (batch, classes) and the target of such a batch."""
    if input.ndim == 0:  # one class
        input, target = input.reshape(1), target.reshape(target.shape or (1,) * target_dims)
    if input.ndim > 2 or input.shape[-1] == 0:
        raise _C.ShapeError(
            f"{op}: input must be (batch, classes) or (classes,), got {tuple(input.shape)}"
        )
    expected = tuple(input.shape[: input.ndim - 1 + target_dims])
    if tuple(target.shape) != expected and not (input.ndim == 1 and target.numel() == 1):
        raise _C.ShapeError(
            f"{op}: input is {tuple(input.shape)}, so target must be {expected}, got "
            f"{tuple(target.shape)}"
        )
    if target.is_floating_point() or target.dtype == _C.bool:
        raise TypeError(
            f"{op}: target must hold class numbers of an integer dtype, got {target.dtype}; use "
            "target.long()"
        )
    rows = input.reshape(-1, input.shape[-1])
    return rows, target.long().reshape(rows.shape[0], *target.shape[target.ndim - target_dims :])


def _require_classes(op: str, target: Tensor, classes: int, lowest: int) -> None:
    known = target.numel() > 0 and not (target.is_meta or _C._is_batched(target))
    if known and (int(target.min()) < lowest or int(target.max()) >= classes):
        raise _C.OutOfRangeError(
            f"{op}: targets from {int(target.min())} to {int(target.max())} are out of range for "
            f"{classes} classes; valid: {lowest}..{classes - 1}"
        )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum_i max(0, margin - x[y] + x[i])^p / classes, over all classes i but y.

    >>> multi_margin_loss(genesis.tensor([[0.5, 0.2, 0.9]]), genesis.tensor([0]))
    tensor(0.7000)
    """
    op = "multi_margin_loss"
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"{op}: p must be 1 or 2, got {p}")
    single = input.ndim < 2 and target.ndim == 0
    input, target = _batched(op, input, target, 0)
    classes = input.shape[1]
    _require_classes(op, target, classes, 0)
    index = target.unsqueeze(1)
    loss = (input - input.gather(1, index) + margin).relu()  # no slope at the margin
    if p == 2:
        loss = loss * loss
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise _C.ShapeError(
                f"{op}: weight must have one number for each of the {classes} classes, got shape "
                f"{tuple(weight.shape)}"
            )
        loss = loss * weight[target].unsqueeze(1)
    loss = loss.scatter(1, index, 0.0).sum(1) / classes
    return _reduced(loss.squeeze(0) if single else loss, reduction, op)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum max(0, 1 - (x[i] - x[j])) / classes, over target classes i and other classes j.

    A row of ``target`` lists classes, up to the first -1.

    >>> x, y = genesis.tensor([[0.1, 0.2, 0.4, 0.8]]), genesis.tensor([[3, 0, -1, 1]])
    >>> multilabel_margin_loss(x, y)
    tensor(0.8500)
    """
    op = "multilabel_margin_loss"
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    single = input.ndim < 2
    input, target = _batched(op, input, target, 1)
    classes = input.shape[1]
    _require_classes(op, target, classes, -1)
    listed = (target < 0).long().cumsum(1) == 0
    index = target.masked_fill(~listed, 0)
    is_target = _C.zeros_like(index).scatter_add(1, index, listed.long()) > 0
    # (batch, target i, class j)
    margins = (1 - (input.gather(1, index).unsqueeze(2) - input.unsqueeze(1))).relu()
    counts = listed.unsqueeze(2) & ~is_target.unsqueeze(1)
    loss = (margins * counts.to(input.dtype)).sum((1, 2)) / classes
    return _reduced(loss.squeeze(0) if single else loss, reduction, op)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross-entropy of sigmoid(x), averaged over the classes (the last dimension).

    >>> multilabel_soft_margin_loss(genesis.zeros(1, 2), genesis.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    loss = _C._binary_cross_entropy_with_logits(input, target, "none")
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.mean(-1), reduction, "multilabel_soft_margin_loss")


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) where y is 1, max(0, cos(x1, x2) - margin) where y is -1.

    >>> x1, x2 = genesis.tensor([[1.0, 0.0], [1.0, 0.0]]), genesis.tensor([[0.0, 1.0], [2.0, 0.0]])
    >>> cosine_embedding_loss(x1, x2, genesis.tensor([1, -1]), reduction="none")
    tensor([1., 1.])
    """
    op = "cosine_embedding_loss"
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim + 1 or target.ndim > 1:
        raise _C.ShapeError(
            f"{op}: expected inputs (batch, features) and target (batch,), or inputs (features,) "
            f"and a single target, got {tuple(input1.shape)}, {tuple(input2.shape)} and "
            f"{tuple(target.shape)}"
        )
    eps = 1e-12
    squares = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = (input1 * input2).sum(-1) / squares.sqrt()
    zero = _C.zeros_like(cosine)
    near = _C.where(target == 1, 1 - cosine, zero)
    far = _C.where(target == -1, (cosine - margin).clamp(min=0), zero)
    return _reduced(near + far, reduction, op)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d being the p-norm.

    With ``swap``, the distance of positive and negative is used where it is smaller.

    >>> near, far = genesis.tensor([[1.0, 0.0]]), genesis.tensor([[0.0, 1.5]])
    >>> triplet_margin_loss(genesis.zeros(1, 2), near, far)
    tensor(0.5000)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise _C.ShapeError(
            "triplet_margin_loss: all inputs must have as many dimensions, got shapes "
            f"{tuple(anchor.shape)}, {tuple(positive.shape)} and {tuple(negative.shape)}"
        )
    return _triplet(
        anchor,
        positive,
        negative,
        lambda x, y: pairwise_distance(x, y, p, eps),
        margin,
        swap,
        reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with any distance; by default the Euclidean one.

    >>> near, far = genesis.tensor([[1.0, 0.0]]), genesis.tensor([[0.0, 1.5]])
    >>> def city_blocks(x, y):
    ...     return (x - y).abs().sum(-1)
    >>> triplet_margin_with_distance_loss(
    ...     genesis.zeros(1, 2), near, far, distance_function=city_blocks
    ... )
    tensor(0.5000)
    """
    distance = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: str,
) -> Tensor:
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be positive, got {margin}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduced((margin + near - far).clamp(min=0), reduction, "triplet_margin_loss")
