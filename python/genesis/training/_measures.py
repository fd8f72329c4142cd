"""The measures of an epoch: means of what steps report, and metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from genesis import metrics as library
from genesis._C import Tensor
from genesis.metrics import Metric
from genesis.training._job import Job

NAMED = {
    "accuracy": library.Accuracy,
    "auroc": library.AUROC,
    "f1": library.F1,
    "mae": library.MAE,
    "mse": library.MSE,
    "perplexity": library.Perplexity,
    "precision": library.Precision,
    "r2": library.R2,
    "recall": library.Recall,
    "top_k": library.TopK,
}


class _Function(library.Mean):
    """The mean of a function of outputs and targets over all samples."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def update(self, preds: Any, target: Any) -> None:  # type: ignore[override]
        super().update(self.function(preds, target), len(target))


_LOGITS = ("accuracy", "f1", "precision", "recall")  # compare with a threshold


def named(metrics: Any, logits: bool = False) -> dict[str, Metric]:
    """What was passed as ``metrics``, by name: a metric, its name, a function, or several.

    ``logits`` says that outputs are those of `BCEWithLogitsLoss`: 0 separates the classes.
    """
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        return {str(name): _metric(m, logits) for name, m in metrics.items()}
    if isinstance(metrics, (str, Metric)) or not isinstance(metrics, (list, tuple)):
        metrics = [metrics]
    found = {_name(m): _metric(m, logits) for m in metrics}
    if len(found) < len(metrics):
        names = [_name(m) for m in metrics]
        raise ValueError(f"fit: metrics has a name twice: {names}; pass a dict of names")
    return found


def _name(metric: Any) -> str:
    if isinstance(metric, str):
        return metric
    if isinstance(metric, Metric):
        words = type(metric).__name__
        if words.isupper() or not words.isidentifier():
            return words.lower()
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()
    return str(getattr(metric, "__name__", type(metric).__name__))


def _metric(metric: Any, logits: bool) -> Metric:
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric not in NAMED:
            raise ValueError(f"fit: there is no metric {metric!r}; there are {sorted(NAMED)}")
        options = {"threshold": 0.0} if logits and metric in _LOGITS else {}
        made: Metric = NAMED[metric](**options)
        return made
    if isinstance(metric, type) and issubclass(metric, Metric):
        return metric()
    if callable(metric):
        return _Function(metric)
    raise TypeError(f"fit: not a metric: {metric!r}; pass a Metric, a name, or a function")


class Measures:
    """Sums over the steps of a pass, and the metrics that they update."""

    def __init__(self, metrics: Mapping[str, Metric]) -> None:
        self.metrics = metrics
        self.tables: dict[str, Tensor] = {}  # the latest matrices, such as confusion matrices
        self.reset()

    def reset(self) -> None:
        self.samples = 0
        self.sums: dict[str, float] = {}
        for metric in self.metrics.values():
            metric.reset()

    def add(self, values: Mapping[str, float], count: int) -> None:
        """Take the values of a step with ``count`` samples."""
        self.samples += count
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + count * value

    def update(self, output: Any, target: Any) -> None:
        """Take the outputs of a step into the metrics."""
        if output is not None:
            output = (
                output.detach().float() if isinstance(output, Tensor) and _half(output) else output
            )
            for metric in self.metrics.values():
                metric.update(output, target)

    def means(self) -> dict[str, float]:
        """The means so far, on this rank."""
        return {name: total / max(self.samples, 1) for name, total in self.sums.items()}

    def result(self, job: Job, prefix: str = "") -> dict[str, float]:
        """The measures over all ranks; every rank must call it."""
        sums: dict[str, float] = {}
        parts = job.gather((self.samples, self.sums))
        samples = sum(n for n, _ in parts)
        for _, part in parts:
            for name, value in part.items():
                sums[name] = sums.get(name, 0.0) + value
        found = {name: total / max(samples, 1) for name, total in sums.items()}
        for name, metric in self.metrics.items():
            value = (metric.sync() if job.size > 1 else metric).compute()
            found.update(_numbers(name, value))
            if value.ndim == 2:
                self.tables[prefix + name] = value
        return {prefix + name: value for name, value in found.items()}

    def state_dict(self) -> dict[str, Any]:
        states = {name: metric.state_dict() for name, metric in self.metrics.items()}
        return {"samples": self.samples, "sums": self.sums, "metrics": states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.samples, self.sums = state["samples"], dict(state["sums"])
        for name, metric in self.metrics.items():
            metric.load_state_dict(state["metrics"][name])


def _half(output: Tensor) -> bool:
    return output.is_floating_point() and output.element_size() < 4


def _numbers(name: str, value: Tensor) -> dict[str, float]:
    """One number; of a vector, one for each class. Matrices are kept as tables."""
    if value.ndim == 0:
        return {name: float(value)}
    if value.ndim == 1:
        return {f"{name}_{i}": float(v) for i, v in enumerate(value.tolist())}
    return {}
