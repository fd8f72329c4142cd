"""Losses of scores against classes: class numbers, probabilities, and sequences of classes."""

from __future__ import annotations

from collections.abc import Sequence

from genesis import _C
from genesis._C import Tensor
from genesis.nn.functional.loss import _older, _reduced

__all__ = ["cross_entropy", "ctc_loss", "nll_loss"]


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log(softmax(x)) at the class y, for scores x with classes in dimension 1.

    ``target`` holds class numbers, or probabilities in the shape of the input. ``weight`` counts
    classes differently, also in the mean; cases of class ``ignore_index`` do not count;
    ``label_smoothing`` spreads that part of the target over all classes.

    >>> scores = genesis.tensor([[2.0, 0.0], [0.0, 3.0]])
    >>> cross_entropy(scores, genesis.tensor([0, 1]))
    tensor(0.0878)
    >>> cross_entropy(scores, genesis.tensor([[1.0, 0.0], [0.5, 0.5]]))
    tensor(0.8378)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if target.is_floating_point():
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    return _C._cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    if target.shape != input.shape:
        raise _C.ShapeError(
            f"cross_entropy: a floating target holds probabilities and must have the input's shape "
            f"{tuple(input.shape)}, got {tuple(target.shape)}; class numbers must be integers: "
            + (
                "use target.long()"
                if input.is_floating_point()
                else "input comes first, target second"
            )
        )
    if not 0 <= smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing must be between 0 and 1, got {smoothing}")
    dim = 1 if input.ndim > 1 else 0
    classes = input.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise _C.ShapeError(
                f"cross_entropy: weight must have one number for each of the {classes} classes, "
                f"got shape {tuple(weight.shape)}"
            )
        target = target * weight.reshape(classes, *[1] * (input.ndim - dim - 1))
    loss = -(_C.log_softmax(input, dim) * target).sum(dim)
    return _reduced(loss, reduction, "cross_entropy")


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-x at the class y, for log-probabilities x with classes in dimension 1.

    ``weight`` and ``ignore_index`` are as in ``cross_entropy``.

    >>> nll_loss(genesis.tensor([[-1.0, -2.0], [-3.0, -4.0]]), genesis.tensor([0, 1]))
    tensor(2.5000)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    return _C._nll_loss(input, target, weight, ignore_index, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability that frames spell the targets, blanks and repetitions left out.

    ``log_probs`` is (frames, batch, classes), or (frames, classes); ``targets`` is (batch, longest)
    or all targets one after the other. "mean" divides each loss by the length of its target
    first. ``zero_infinity`` makes 0 of the loss of a target that is too long for its frames.

    >>> frames = genesis.zeros(4, 1, 3).log_softmax(2)
    >>> ctc_loss(frames, genesis.tensor([[1, 2]]), [4], [2])
    tensor(0.8432)
    """
    op = "ctc_loss"
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.reshape(1, -1) if targets.ndim == 1 else targets
    inputs, lengths = (_lengths(n) for n in (input_lengths, target_lengths))
    if targets.is_floating_point():
        raise TypeError(f"{op}: targets must hold class numbers, got {targets.dtype}")
    if targets.ndim == 2 and targets.shape[0] == lengths.numel():
        if targets.is_meta or lengths.is_meta:
            raise NotImplementedError(
                f"{op}: which of the padded targets count depends on the values of tensors on the "
                "meta device; pass targets as one line"
            )
        if (
            lengths.numel()
            and not _C._is_batched(lengths)
            and int(lengths.max()) > targets.shape[1]
        ):
            raise _C.ShapeError(
                f"{op}: target_lengths reach {int(lengths.max())}, but targets is "
                f"{tuple(targets.shape)}"
            )
        # Row by row, without the padding.
        inside = _C.arange(targets.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)
        targets = targets[inside]
    elif targets.ndim != 1:
        raise _C.ShapeError(
            f"{op}: targets must be (batch, longest) or one line of all targets, got "
            f"{tuple(targets.shape)} for {lengths.numel()} sequences"
        )
    wide = log_probs if log_probs.dtype == _C.float64 else log_probs.float()
    loss = _C._ctc_loss(wide, targets, inputs, lengths, blank).to(log_probs.dtype)
    if zero_infinity:
        loss = _C.where(loss.isinf(), _C.zeros_like(loss), loss)
    if reduction == "mean":
        return (loss / lengths.clamp(min=1).to(loss.dtype)).mean()
    loss = loss.squeeze(0) if single else loss
    return _reduced(loss, reduction, op)


def _lengths(given: Tensor | Sequence[int]) -> Tensor:
    lengths = given if isinstance(given, Tensor) else _C.tensor(list(given), dtype=_C.int64)
    return lengths.reshape(-1)
