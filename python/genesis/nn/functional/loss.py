"""Losses of elements against elements: how far predictions are from their targets.

``reduction`` is "mean", "sum" or "none". ``size_average`` and ``reduce`` are PyTorch's older names
of it; they work, with a warning. In the formulas, x is the input and y the target.
"""

from __future__ import annotations

import math
import warnings

from genesis import _C
from genesis._C import Tensor
from genesis._dtype_info import require_real

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
]


def _older(size_average: bool | None, reduce: bool | None) -> str:
    """The reduction that PyTorch's older arguments mean."""
    for value in (size_average, reduce):
        if isinstance(value, Tensor):
            raise TypeError(
                f"size_average must be a bool, got a tensor of shape {tuple(value.shape)}; a loss "
                "is made first, then called: nn.CrossEntropyLoss()(input, target)"
            )
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce are deprecated; use reduction={name!r}", stacklevel=3)
    return name


def _reduced(loss: Tensor, reduction: str, op: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{op}: reduction must be 'none', 'mean' or 'sum', got {reduction!r}")


def _weighted(loss: Tensor, weight: Tensor, op: str) -> Tensor:
    if weight.shape != loss.shape:
        raise _C.ShapeError(
            f"{op}: weight must have the input's shape {tuple(loss.shape)}, got "
            f"{tuple(weight.shape)}"
        )
    return loss * weight


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(x - y)^2. With ``weight``, the mean is weighted.

    >>> mse_loss(genesis.tensor([1.0, 4.0]), genesis.tensor([1.0, 2.0]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if weight is not None:
        loss = _weighted(_C._mse_loss(input, target, "none"), weight, "mse_loss")
        return (
            loss.sum() / weight.sum()
            if reduction == "mean"
            else _reduced(loss, reduction, "mse_loss")
        )
    return _C._mse_loss(input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|x - y|. With ``weight``, the mean is weighted.

    >>> l1_loss(genesis.tensor([1.0, 4.0]), genesis.tensor([1.0, 2.0]), reduction="sum")
    tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if weight is not None:
        loss = _weighted(_C._l1_loss(input, target, "none"), weight, "l1_loss")
        return (
            loss.sum() / weight.sum()
            if reduction == "mean"
            else _reduced(loss, reduction, "l1_loss")
        )
    return _C._l1_loss(input, target, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """(x - y)^2 / (2 beta) where |x - y| < beta, else |x - y| - beta / 2.

    >>> smooth_l1_loss(genesis.tensor([1.0, 4.0]), genesis.tensor([1.5, 2.0]), reduction="none")
    tensor([0.1250, 1.5000])
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    return _C._smooth_l1_loss(input, target, reduction, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """(x - y)^2 / 2 where |x - y| <= delta, else delta (|x - y| - delta / 2).

    >>> huber_loss(genesis.tensor([1.0, 4.0]), genesis.tensor([1.5, 1.0]), "none", delta=2.0)
    tensor([0.1250, 4.0000])
    """
    if weight is not None:
        loss = _weighted(_C._huber_loss(input, target, "none", delta), weight, "huber_loss")
        return _reduced(loss, reduction, "huber_loss")
    return _C._huber_loss(input, target, reduction, delta)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-y log(x) - (1 - y) log(1 - x) of probabilities x; logarithms are at least -100.

    >>> binary_cross_entropy(genesis.tensor([0.5, 1.0]), genesis.tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if weight is None:
        return _C._binary_cross_entropy(input, target, reduction)
    loss = _C._binary_cross_entropy(input, target, "none") * weight
    return _reduced(loss, reduction, "binary_cross_entropy")


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross-entropy of sigmoid(x), exact for large x; ``pos_weight`` multiplies y log.

    >>> binary_cross_entropy_with_logits(genesis.tensor([0.0, 100.0]), genesis.tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    if weight is None and pos_weight is None:
        return _C._binary_cross_entropy_with_logits(input, target, reduction)
    if pos_weight is None:
        loss = _C._binary_cross_entropy_with_logits(input, target, "none")
    elif input.shape != target.shape:
        raise _C.ShapeError(
            f"binary_cross_entropy_with_logits: input is {tuple(input.shape)}, target is "
            f"{tuple(target.shape)}; they must have the same shape"
        )
    else:
        scale = (pos_weight - 1) * target + 1
        loss = (1 - target) * input + scale * _C.softplus(-input, threshold=math.inf)
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, reduction, "binary_cross_entropy_with_logits")


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """y (log y - x), where x holds log-probabilities, and so does y with ``log_target``.

    ``reduction="batchmean"`` divides the sum by the size of the batch, as the Kullback-Leibler
    divergence does; "mean" divides by the number of elements.

    >>> x = genesis.tensor([[0.5, 0.5]]).log()
    >>> kl_div(x, genesis.tensor([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    require_real("kl_div", input, target)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = _C.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / (input.shape[0] if input.ndim else 1)
    if reduction == "mean":
        warnings.warn(
            "kl_div: reduction='mean' divides by the number of elements, which is not the "
            "Kullback-Leibler divergence; use 'batchmean'",
            stacklevel=2,
        )
    return _reduced(loss, reduction, "kl_div")


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - y x, of counts y with rates exp(x); x - y log(x + eps) without ``log_input``.

    ``full`` adds Stirling's approximation of log(y!) where y > 1.

    >>> poisson_nll_loss(genesis.tensor([0.0, 1.0]), genesis.tensor([1.0, 2.0]))
    tensor(0.8591)
    """
    if size_average is not None or reduce is not None:
        reduction = _older(size_average, reduce)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        large = _C.where(target > 1, target, _C.ones_like(target))
        stirling = large * large.log() - large + 0.5 * (2 * math.pi * large).log()
        loss = loss + _C.where(target > 1, stirling, _C.zeros_like(stirling))
    return _reduced(loss, reduction, "poisson_nll_loss")


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log(v) + (x - y)^2 / v) / 2 for a normal distribution of variance v = max(var, eps).

    ``var`` has the shape of the input, or that without its last dimension, or with a 1 in it.
    ``full`` adds log(2 pi) / 2.

    >>> one = genesis.ones(2)
    >>> gaussian_nll_loss(genesis.tensor([1.0, 3.0]), one, one)
    tensor(1.)
    """
    if not isinstance(var, Tensor):
        var = _C.full_like(input, var)
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or [
            n for n, m in zip(var.shape, input.shape, strict=True) if n != m
        ] != [1]:
            raise _C.ShapeError(
                f"gaussian_nll_loss: var is {tuple(var.shape)}, but input is {tuple(input.shape)}; "
                "its last dimension may be missing, or one of them 1, the others must agree"
            )
    if not (var.is_meta or _C._is_batched(var)) and bool((var.detach() < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative entries; a variance cannot")
    # The bound holds for the value alone: a variance below it still gets a gradient.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction, "gaussian_nll_loss")
