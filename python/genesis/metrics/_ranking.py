"""The area under the ROC curve."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis.metrics._classes import is_binary
from genesis.metrics._metric import Metric, tensor


class AUROC(Metric):
    """The area under the ROC curve, exact, with ties.

    Two classes: scores (N,) and labels 0 and 1. More: scores (N, C), each class against the rest;
    ``average`` is "macro" (mean over classes), "weighted" (by how often each is true) or None (a
    value for each class). A class that is never true, or always, has no area: it is nan, and left
    out of averages. All scores are kept until `reset`.

    >>> auroc = AUROC()
    >>> auroc.update(genesis.tensor([0.1, 0.4, 0.35, 0.8]), genesis.tensor([0, 0, 1, 1]))
    >>> auroc.compute().item()
    0.75
    """

    scores: list[Tensor]
    labels: list[Tensor]

    def __init__(self, average: str | None = "macro") -> None:
        super().__init__()
        average = None if average == "none" else average
        if average not in ("macro", "weighted", None):
            raise ValueError(f'AUROC: average must be "macro", "weighted" or None, got {average!r}')
        self.average = average
        self.add_state("scores", [], "cat")
        self.add_state("labels", [], "cat")

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take scores and true classes."""
        scores, true = tensor("AUROC", "preds", preds), tensor("AUROC", "target", target)
        if scores.ndim == 2 and scores.shape[1] == 1:  # as binary_cross_entropy takes them
            scores, true = scores[:, 0], true[:, 0] if true.ndim == 2 else true
        if true.is_floating_point() and is_binary(true):
            true = true.long()
        if true.is_floating_point() or true.ndim != 1 or scores.shape[:1] != true.shape:
            raise ValueError(
                "AUROC: expected scores of shape (N,) or (N, classes) and labels (N,), got "
                f"{tuple(scores.shape)} and {true.dtype} of {tuple(true.shape)}"
            )
        if scores.ndim > 2 or (self.scores and self.scores[0].ndim != scores.ndim):
            raise ValueError(
                f"AUROC: scores of shape {tuple(scores.shape)} do not fit those before"
            )
        classes = scores.shape[1] if scores.ndim == 2 else 2
        if true.numel() and not 0 <= int(true.min()) <= int(true.max()) < classes:
            raise ValueError(f"AUROC: target has labels outside of 0..{classes - 1}")
        if bool(scores.isnan().any()):
            raise ValueError("AUROC: preds has nan values")
        self.scores = [*self.scores, scores.double()]
        self.labels = [*self.labels, true.long()]

    def compute(self) -> Tensor:
        if not self.labels:
            return _C.tensor(float("nan"), dtype=_C.float64)
        scores, true = _C.cat(self.scores), _C.cat(self.labels)
        if scores.ndim == 1:
            return _area(scores, true == 1)
        classes = range(scores.shape[1])
        areas = _C.stack([_area(scores[:, c], true == c) for c in classes])
        if self.average is None:
            return areas
        weights = _C.bincount(true, minlength=scores.shape[1]).double()
        if self.average == "macro":
            weights = _C.ones_like(weights)
        known = ~areas.isnan()
        return (areas[known] * weights[known]).sum() / weights[known].sum()


def _area(scores: Tensor, positive: Tensor) -> Tensor:
    """The share of pairs of a positive and a negative that are in order; ties count half.

    It follows from the sum of the ranks of the positives (Mann-Whitney), in N log N.
    """
    _, inverse, counts = _C.unique(scores, return_inverse=True, return_counts=True)
    last = counts.double().cumsum(0)
    ranks = (last - (counts.double() - 1) / 2)[inverse]
    yes = positive.double().sum()
    no = len(scores) - yes
    area: Tensor = ((ranks * positive).sum() - yes * (yes + 1) / 2) / (yes * no)
    return area
