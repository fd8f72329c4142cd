"""Metrics over entire data sets, computed batch by batch.

A metric takes batches with ``update``, gives its value with ``compute`` and starts again with
``reset``. Partial results can be joined: ``a.merge(b)`` adds the data of ``b`` to ``a``, and
``a.sync()`` returns the metric over the data of all ranks of a distributed job. The functions of
`genesis.metrics.functional` compute the same values for one pair of tensors.

Predictions for classification are class labels (integers), probabilities of the positive class
(floating, with the shape of the target), or one score for each class in dimension 1, as
`genesis.nn.functional.cross_entropy` takes them.
"""

from genesis.metrics import functional
from genesis.metrics._classes import F1, Accuracy, ConfusionMatrix, Precision, Recall, TopK
from genesis.metrics._metric import Mean, Metric
from genesis.metrics._ranking import AUROC
from genesis.metrics._regression import MAE, MSE, R2
from genesis.metrics._text import Perplexity

__all__ = [
    "AUROC",
    "F1",
    "MAE",
    "MSE",
    "R2",
    "Accuracy",
    "ConfusionMatrix",
    "Mean",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "TopK",
    "functional",
]
