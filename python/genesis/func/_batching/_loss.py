"""Rules of losses: one for each element, then the mean or the sum of each element's own."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._layers import folded
from genesis.func._batching._tensor import Call, batch_of, is_at, looped, rule


def reduced(each: Tensor, reduction: str) -> Tensor:
    """The batch of losses from those of all elements."""
    if reduction == "none":
        return each
    flat = each.reshape(each.shape[0], -1)
    return flat.mean(1) if reduction == "mean" else flat.sum(1)


@rule("_mse_loss", "_l1_loss", "_smooth_l1_loss", "_huber_loss")
@rule("_binary_cross_entropy", "_binary_cross_entropy_with_logits")
def pairwise(call: Call) -> Any:
    bound = call.bind()
    x, target, reduction = bound.pop("input"), bound.pop("target"), bound.pop("reduction")
    x, target = _C.broadcast_tensors(x, target)
    each = call.op.func(
        batch_of(x, call.level), batch_of(target, call.level), reduction="none", **bound
    )
    return call.result(reduced(each, reduction))


@rule("_cross_entropy", "_nll_loss")
def cross_entropy(call: Call) -> Any:
    bound = call.bind()
    x, target = bound.pop("input"), bound.pop("target")
    reduction, weight = bound.pop("reduction", "mean"), bound.pop("weight", None)
    level = call.level
    if is_at(weight, level):
        return looped(call)
    scores, goals = batch_of(x, level), batch_of(target, level)
    lines = x.ndim > 1
    if lines:
        scores, goals = folded(scores), folded(goals)
    each = call.op.func(scores, goals, weight, reduction="none", **bound)
    if lines:
        each = each.reshape(level.size, x.shape[0], *each.shape[1:])
    if reduction == "mean" and not target.is_floating_point():
        ignored = bound.get("ignore_index", -100)
        valid = goals != ignored
        if weight is None:
            count: Tensor = valid.to(each.dtype)
        else:
            count = weight[_C.where(valid, goals, 0)] * valid
        if lines:
            each, count = reduced(each, "sum"), count.reshape(level.size, -1).sum(1)
        return call.result(each / count)
    return call.result(reduced(each, reduction))


@rule("_ctc_loss")
def ctc_loss(call: Call) -> Any:
    bound = call.bind()
    probs, labels = bound["log_probs"], bound["labels"]
    if probs.ndim != 3 or labels.ndim != 2:
        return looped(call)
    level = call.level
    value = batch_of(probs, level).movedim(0, 1)
    merged = value.reshape(value.shape[0], -1, value.shape[-1])
    out = call.op.func(
        merged,
        folded(batch_of(labels, level)),
        folded(batch_of(bound["input_lengths"], level)),
        folded(batch_of(bound["target_lengths"], level)),
        bound["blank"],
    )
    return call.result(out.reshape(level.size, -1))
