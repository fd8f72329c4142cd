"""Writes `reference.json`: values of scikit-learn for the data of `data.py`.

Run `python -m tests.metrics.record` in an environment that has scikit-learn.
"""

import json
import pathlib

import sklearn
from sklearn import metrics as m

from tests.metrics.data import binary, classes, numbers

PATH = pathlib.Path(__file__).with_name("reference.json")


def record() -> dict:
    scores, target = classes()
    found = scores.argmax(1)
    probability, label = binary()
    guess, true = numbers()
    values = {"sklearn": sklearn.__version__, "accuracy": m.accuracy_score(target, found)}
    for k in (1, 2, 3):
        values[f"top_{k}"] = m.top_k_accuracy_score(target, scores, k=k, labels=range(6))
    for name, function in (
        ("precision", m.precision_score), ("recall", m.recall_score), ("f1", m.f1_score),
    ):  # fmt: skip
        for average in ("micro", "macro", "weighted", None):
            value = function(target, found, average=average, zero_division=0)
            values[f"{name}_{average}"] = value.tolist() if average is None else value
        values[f"{name}_binary"] = function(label, probability > 0.5)
    for normalize in (None, "true", "pred", "all"):
        values[f"confusion_{normalize}"] = m.confusion_matrix(
            target, found, normalize=normalize
        ).tolist()
    values["auroc"] = m.roc_auc_score(label, probability)
    for average in ("macro", "weighted"):
        values[f"auroc_{average}"] = m.roc_auc_score(
            target, scores, multi_class="ovr", average=average, labels=range(6)
        )
    values["mse"] = m.mean_squared_error(true, guess)
    values["mae"] = m.mean_absolute_error(true, guess)
    values["r2"] = m.r2_score(true, guess)
    values["r2_each"] = m.r2_score(true, guess, multioutput="raw_values").tolist()
    return values


if __name__ == "__main__":
    PATH.write_text(json.dumps(record(), indent=1) + "\n")
