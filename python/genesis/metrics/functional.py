"""Metrics of one pair of predictions and targets, as functions.

Each makes the metric of the same name, updates it once and returns its value.
"""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor
from genesis.metrics import _classes, _ranking, _regression, _text
from genesis.metrics._metric import Metric

__all__ = [
    "accuracy",
    "auroc",
    "confusion_matrix",
    "f1",
    "mae",
    "mse",
    "perplexity",
    "precision",
    "r2",
    "recall",
    "top_k",
]


def _value(metric: Metric, preds: Any, target: Any) -> Tensor:
    metric.update(preds, target)
    return metric.compute()


def accuracy(
    preds: Any, target: Any, *, threshold: float = 0.5, ignore_index: int | None = None
) -> Tensor:
    """The share of predictions that are right; see `genesis.metrics.Accuracy`.

    >>> accuracy(genesis.tensor([0, 1, 1]), genesis.tensor([0, 1, 0])).item()
    0.6666666666666666
    """
    return _value(_classes.Accuracy(threshold, ignore_index), preds, target)


def top_k(preds: Any, target: Any, k: int = 5) -> Tensor:
    """The share of samples whose class has one of the ``k`` highest scores.

    >>> top_k(genesis.tensor([[0.5, 0.3, 0.2]]), genesis.tensor([1]), k=2).item()
    1.0
    """
    return _value(_classes.TopK(k), preds, target)


def precision(preds: Any, target: Any, average: str | None = "macro", **options: Any) -> Tensor:
    """The share of predictions of a class that are right; see `genesis.metrics.Precision`.

    >>> precision(genesis.tensor([0, 1, 1]), genesis.tensor([0, 1, 0]), average="binary").item()
    0.5
    """
    return _value(_classes.Precision(average, **options), preds, target)


def recall(preds: Any, target: Any, average: str | None = "macro", **options: Any) -> Tensor:
    """The share of samples of a class that are found; see `genesis.metrics.Recall`.

    >>> recall(genesis.tensor([0, 1, 1]), genesis.tensor([0, 1, 0]), average="binary").item()
    1.0
    """
    return _value(_classes.Recall(average, **options), preds, target)


def f1(preds: Any, target: Any, average: str | None = "macro", **options: Any) -> Tensor:
    """The harmonic mean of precision and recall; see `genesis.metrics.F1`.

    >>> f1(genesis.tensor([0, 1, 1]), genesis.tensor([0, 1, 0]), average="micro").item()
    0.6666666666666666
    """
    return _value(_classes.F1(average, **options), preds, target)


def confusion_matrix(preds: Any, target: Any, **options: Any) -> Tensor:
    """Counts by true (row) and predicted class; see `genesis.metrics.ConfusionMatrix`.

    >>> confusion_matrix(genesis.tensor([0, 1, 1]), genesis.tensor([0, 1, 0])).tolist()
    [[1, 1], [0, 1]]
    """
    return _value(_classes.ConfusionMatrix(**options), preds, target)


def auroc(preds: Any, target: Any, average: str | None = "macro") -> Tensor:
    """The area under the ROC curve; see `genesis.metrics.AUROC`.

    >>> auroc(genesis.tensor([0.1, 0.4, 0.35, 0.8]), genesis.tensor([0, 0, 1, 1])).item()
    0.75
    """
    return _value(_ranking.AUROC(average), preds, target)


def mse(preds: Any, target: Any, *, root: bool = False) -> Tensor:
    """The mean of the squared errors, or its square root.

    >>> mse(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 4.0])).item()
    2.0
    """
    return _value(_regression.MSE(root), preds, target)


def mae(preds: Any, target: Any) -> Tensor:
    """The mean of the absolute errors.

    >>> mae(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 4.0])).item()
    1.0
    """
    return _value(_regression.MAE(), preds, target)


def r2(preds: Any, target: Any, average: str | None = "mean") -> Tensor:
    """The coefficient of determination; see `genesis.metrics.R2`.

    >>> r2(genesis.tensor([1.0, 2.0, 3.0]), genesis.tensor([1.0, 2.0, 3.0])).item()
    1.0
    """
    return _value(_regression.R2(average), preds, target)


def perplexity(
    preds: Any, target: Any, *, dim: int = -1, ignore_index: int | None = None
) -> Tensor:
    """The exponential of the mean cross entropy; see `genesis.metrics.Perplexity`.

    >>> round(perplexity(genesis.zeros(1, 4), genesis.tensor([2])).item(), 4)
    4.0
    """
    return _value(_text.Perplexity(dim, ignore_index), preds, target)
