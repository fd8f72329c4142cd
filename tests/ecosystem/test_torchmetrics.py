"""torchmetrics: classification, regression, and states of metrics."""

import torch
import torchmetrics

from .helpers import wave

TARGET = torch.tensor([0, 2, 1, 1, 0, 2, 2, 1])


def test_metrics(check):
    scores = wave(8, 3).softmax(1)
    kinds = {"task": "multiclass", "num_classes": 3}
    found = {
        "accuracy": torchmetrics.Accuracy(**kinds),
        "f1": torchmetrics.F1Score(average="macro", **kinds),
        "auroc": torchmetrics.AUROC(**kinds),
        "confusion": torchmetrics.ConfusionMatrix(**kinds),
    }
    values = {name: metric(scores, TARGET) for name, metric in found.items()}
    values["mse"] = torchmetrics.MeanSquaredError()(scores[:, 0], wave(8, start=1.0))
    values["r2"] = torchmetrics.R2Score()(scores[:, 0], wave(8, start=1.0))
    check(**values)


def test_updates():
    metric = torchmetrics.MetricCollection([torchmetrics.MeanMetric(), torchmetrics.SumMetric()])
    for value in (1.0, 2.0, 6.0):
        metric.update(torch.tensor(value))
    assert {k: float(v) for k, v in metric.compute().items()} == {
        "MeanMetric": 3.0,
        "SumMetric": 9.0,
    }
