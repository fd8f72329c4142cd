"""Metrics of classes, from counts of predictions."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis.metrics._metric import Metric, grown, ratio, tensor

AVERAGES = ("micro", "macro", "weighted", "binary", None)


def is_binary(target: Tensor) -> bool:
    """Whether all values are 0 or 1."""
    return bool(((target == 0) | (target == 1)).all())


def labels(
    name: str, preds: Any, target: Any, threshold: float = 0.5, ignore_index: int | None = None
) -> tuple[Tensor, Tensor, int]:
    """Predicted and true classes as flat integer tensors, and how many classes have a score."""
    preds, target = tensor(name, "preds", preds), tensor(name, "target", target)
    if target.is_floating_point() and preds.shape == target.shape and is_binary(target):
        target = target.long()  # as binary_cross_entropy takes them
    if target.is_floating_point():
        raise TypeError(
            f"{name}: target must hold class labels (integers), got {target.dtype}; "
            "use target.long()"
        )
    classes = 0
    if preds.shape == target.shape:
        found = preds > threshold if preds.is_floating_point() else preds
    elif preds.ndim == target.ndim + 1 and (*preds.shape[:1], *preds.shape[2:]) == target.shape:
        found, classes = preds.argmax(1), preds.shape[1]
    else:
        raise ValueError(
            f"{name}: preds of shape {tuple(preds.shape)} do not fit a target of shape "
            f"{tuple(target.shape)}; expected the same shape, or one more dimension of class "
            "scores at 1"
        )
    found, target = found.long().flatten(), target.long().flatten()
    if ignore_index is not None:
        keep = target != ignore_index
        found, target = found[keep], target[keep]
    if target.numel() and int(_C.minimum(found.min(), target.min())) < 0:
        raise ValueError(
            f"{name}: class labels must not be negative; pass ignore_index to skip one"
        )
    return found, target, classes


class Accuracy(Metric):
    """The share of predictions that are right.

    Floating predictions with the shape of the target are probabilities, compared with
    ``threshold``; for logits use ``threshold=0``. Targets equal to ``ignore_index`` do not count.

    >>> accuracy = Accuracy()
    >>> accuracy.update(genesis.tensor([[0.9, 0.1], [0.2, 0.8]]), genesis.tensor([0, 0]))
    >>> accuracy.update(genesis.tensor([1, 1]), genesis.tensor([1, 1]))
    >>> accuracy.compute().item()
    0.75
    """

    right: Tensor
    total: Tensor

    def __init__(self, threshold: float = 0.5, ignore_index: int | None = None) -> None:
        super().__init__()
        self.threshold = threshold
        self.ignore_index = ignore_index
        self.add_state("right", _C.tensor(0))
        self.add_state("total", _C.tensor(0))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take predictions and the classes they should be."""
        found, true, _ = labels("Accuracy", preds, target, self.threshold, self.ignore_index)
        self.right = self.right + (found == true).sum()
        self.total = self.total + true.numel()

    def compute(self) -> Tensor:
        return ratio(self.right, self.total)


class TopK(Metric):
    """The share of samples whose class is among the ``k`` highest scores.

    Of equal scores, the one of the lower class counts as higher.

    >>> top = TopK(2)
    >>> top.update(genesis.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]), genesis.tensor([1, 2]))
    >>> top.compute().item()
    0.5
    """

    right: Tensor
    total: Tensor

    def __init__(self, k: int = 5) -> None:
        super().__init__()
        if type(k) is not int or k < 1:
            raise ValueError(f"TopK: k must be a positive int, got {k!r}")
        self.k = k
        self.add_state("right", _C.tensor(0))
        self.add_state("total", _C.tensor(0))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take scores, with the classes in dimension 1, and the true classes."""
        scores, true = tensor("TopK", "preds", preds), tensor("TopK", "target", target).long()
        if scores.ndim != true.ndim + 1 or (*scores.shape[:1], *scores.shape[2:]) != true.shape:
            raise ValueError(
                f"TopK: preds of shape {tuple(scores.shape)} do not fit a target of shape "
                f"{tuple(true.shape)}; expected class scores in dimension 1"
            )
        classes = scores.shape[1]
        if self.k > classes:
            raise ValueError(f"TopK: k={self.k} is more than the {classes} classes of preds")
        if true.numel() and not 0 <= int(true.min()) <= int(true.max()) < classes:
            raise ValueError(f"TopK: target has labels outside of 0..{classes - 1}")
        own = scores.gather(1, true.unsqueeze(1))
        place = _C.arange(classes).reshape(-1, *[1] * (scores.ndim - 2))
        before = (scores > own) | ((scores == own) & (place < true.unsqueeze(1)))
        self.right = self.right + (before.sum(1) < self.k).sum()
        self.total = self.total + true.numel()

    def compute(self) -> Tensor:
        return ratio(self.right, self.total)


class _Counts(Metric):
    """For each class: how often it was predicted rightly, predicted, and true."""

    hits: Tensor
    predicted: Tensor
    true: Tensor

    def __init__(
        self,
        average: str | None = "macro",
        num_classes: int | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        average = None if average == "none" else average
        if average not in AVERAGES:
            raise ValueError(f"{self.name}: average must be one of {AVERAGES}, got {average!r}")
        if num_classes is not None and (type(num_classes) is not int or num_classes < 2):
            raise ValueError(f"{self.name}: num_classes must be an int from 2, got {num_classes!r}")
        self.average = average
        self.num_classes = num_classes
        self.threshold = threshold
        self.ignore_index = ignore_index
        for name in ("hits", "predicted", "true"):
            self.add_state(name, _C.zeros(num_classes or 2, dtype=_C.int64))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take predictions and the classes they should be."""
        found, true, scored = labels(self.name, preds, target, self.threshold, self.ignore_index)
        known = max(scored, self.true.shape[0])
        count = class_count(self.name, found, true, self.num_classes, known)
        for name, values in (("hits", true[found == true]), ("predicted", found), ("true", true)):
            counts = grown(getattr(self, name), [count])
            setattr(self, name, counts + _C.bincount(values, minlength=count))

    def _scores(self, hits: Tensor, predicted: Tensor, true: Tensor) -> Tensor:
        raise NotImplementedError

    def compute(self) -> Tensor:
        hits, predicted, true = self.hits.double(), self.predicted.double(), self.true.double()
        if not true.sum():
            return _C.tensor(float("nan"), dtype=_C.float64)
        if self.average == "micro":
            return self._scores(hits.sum(), predicted.sum(), true.sum())
        scores = self._scores(hits, predicted, true)
        if self.average == "macro":
            return scores[(predicted + true) > 0].mean()
        if self.average == "weighted":
            return (scores * true).sum() / true.sum()
        if self.average == "binary":
            if len(scores) != 2:
                raise ValueError(
                    f'{self.name}: average="binary" needs two classes, there are {len(scores)}; '
                    'choose "micro", "macro", "weighted" or None'
                )
            return scores[1]
        return scores


def class_count(name: str, found: Tensor, true: Tensor, given: int | None, known: int) -> int:
    """How many classes there are: as given, as known so far, or as many as these labels need."""
    largest = max((int(x.max()) for x in (found, true) if x.numel()), default=-1)
    if given is None:
        return max(known, largest + 1)
    if largest >= given:
        raise ValueError(f"{name}: found the class {largest}, but num_classes is {given}")
    return given


def _divided(a: Tensor, b: Tensor) -> Tensor:
    """a / b, and 0 where b is zero, as scikit-learn does."""
    quotient: Tensor = _C.where(b > 0, a / b.clamp(min=1), _C.zeros_like(a))
    return quotient


class Precision(_Counts):
    """The share of predictions of a class that are right.

    ``average``: "macro" is the mean over the classes that occur, "weighted" the mean by how often
    each is true, "micro" counts all classes together, "binary" is the value of class 1, and None
    gives a value for each class. What has no predictions counts as 0. The number of classes is
    taken from the data unless ``num_classes`` says it.

    >>> precision = Precision(average=None)
    >>> precision.update(genesis.tensor([0, 1, 1, 2]), genesis.tensor([0, 1, 2, 2]))
    >>> precision.compute().tolist()
    [1.0, 0.5, 1.0]
    """

    def _scores(self, hits: Tensor, predicted: Tensor, true: Tensor) -> Tensor:
        return _divided(hits, predicted)


class Recall(_Counts):
    """The share of samples of a class that are found; the arguments are those of `Precision`.

    >>> recall = Recall(average=None)
    >>> recall.update(genesis.tensor([0, 1, 1, 2]), genesis.tensor([0, 1, 2, 2]))
    >>> recall.compute().tolist()
    [1.0, 1.0, 0.5]
    """

    def _scores(self, hits: Tensor, predicted: Tensor, true: Tensor) -> Tensor:
        return _divided(hits, true)


class F1(_Counts):
    """The harmonic mean of precision and recall; the arguments are those of `Precision`.

    >>> f1 = F1(average="macro")
    >>> f1.update(genesis.tensor([0, 1, 1, 2]), genesis.tensor([0, 1, 2, 2]))
    >>> round(f1.compute().item(), 4)
    0.7778
    """

    def _scores(self, hits: Tensor, predicted: Tensor, true: Tensor) -> Tensor:
        return _divided(2 * hits, predicted + true)


class ConfusionMatrix(Metric):
    """Counts of samples by true class (rows) and predicted class (columns).

    ``normalize`` divides by the sums of rows ("true"), of columns ("pred"), or by all ("all").

    >>> matrix = ConfusionMatrix()
    >>> matrix.update(genesis.tensor([0, 1, 1]), genesis.tensor([0, 0, 1]))
    >>> matrix.compute().tolist()
    [[1, 1], [0, 1]]
    """

    counts: Tensor

    def __init__(
        self,
        num_classes: int | None = None,
        normalize: str | None = None,
        threshold: float = 0.5,
        ignore_index: int | None = None,
    ) -> None:
        super().__init__()
        if normalize not in (None, "true", "pred", "all"):
            raise ValueError(
                f'ConfusionMatrix: normalize must be "true", "pred", "all" or None, '
                f"got {normalize!r}"
            )
        self.num_classes = num_classes
        self.normalize = normalize
        self.threshold = threshold
        self.ignore_index = ignore_index
        size = num_classes or 2
        self.add_state("counts", _C.zeros(size, size, dtype=_C.int64))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take predictions and the classes they should be."""
        name = "ConfusionMatrix"
        found, true, scored = labels(name, preds, target, self.threshold, self.ignore_index)
        known = max(scored, self.counts.shape[0])
        n = class_count(name, found, true, self.num_classes, known)
        pairs = _C.bincount(true * n + found, minlength=n * n).reshape(n, n)
        self.counts = grown(self.counts, [n, n]) + pairs

    def compute(self) -> Tensor:
        if self.normalize is None:
            return self.counts
        counts = self.counts.double()
        dims = {"true": (1,), "pred": (0,), "all": (0, 1)}[self.normalize]
        return _divided(counts, counts.sum(dims, keepdim=True).expand(counts.shape))

    def figure(self, names: list[str] | None = None) -> str:
        """The matrix as an SVG figure for a `genesis.report.Report`."""
        from genesis.report import picture

        return picture.confusion(
            self.counts.tolist(), names or [str(i) for i in range(self.counts.shape[0])]
        )
