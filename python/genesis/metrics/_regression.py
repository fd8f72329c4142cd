"""Errors of predicted numbers."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis.metrics._metric import Metric, ratio, tensor


def _pair(name: str, preds: Any, target: Any) -> tuple[Tensor, Tensor]:
    preds, target = tensor(name, "preds", preds), tensor(name, "target", target)
    if preds.shape != target.shape:
        raise ValueError(
            f"{name}: preds of shape {tuple(preds.shape)} and target of shape "
            f"{tuple(target.shape)} must have the same shape; use squeeze() or unsqueeze()"
        )
    return preds.double(), target.double()


class MSE(Metric):
    """The mean of the squared errors; with ``root=True`` its square root.

    >>> mse = MSE()
    >>> mse.update(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 4.0]))
    >>> mse.compute().item()
    2.0
    """

    total: Tensor
    count: Tensor

    def __init__(self, root: bool = False) -> None:
        super().__init__()
        self.root = root
        self.add_state("total", _C.tensor(0.0, dtype=_C.float64))
        self.add_state("count", _C.tensor(0))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take predictions and true values."""
        found, true = _pair("MSE", preds, target)
        self.total = self.total + ((found - true) ** 2).sum()
        self.count = self.count + true.numel()

    def compute(self) -> Tensor:
        mean = ratio(self.total, self.count)
        return mean.sqrt() if self.root else mean


class MAE(Metric):
    """The mean of the absolute errors.

    >>> mae = MAE()
    >>> mae.update(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 4.0]))
    >>> mae.compute().item()
    1.0
    """

    total: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", _C.tensor(0.0, dtype=_C.float64))
        self.add_state("count", _C.tensor(0))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take predictions and true values."""
        found, true = _pair("MAE", preds, target)
        self.total = self.total + (found - true).abs().sum()
        self.count = self.count + true.numel()

    def compute(self) -> Tensor:
        return ratio(self.total, self.count)


class R2(Metric):
    """The coefficient of determination: 1 - squared errors / squared deviations from the mean.

    For several outputs (N, D) it is the mean over outputs, or with ``average=None`` one value for
    each. An output that is constant has 1 if it is predicted exactly, and 0 otherwise.

    >>> r2 = R2()
    >>> r2.update(genesis.tensor([2.5, 0.0, 2.0, 8.0]), genesis.tensor([3.0, -0.5, 2.0, 7.0]))
    >>> round(r2.compute().item(), 4)
    0.9486
    """

    count: Tensor
    mean: Tensor
    deviation: Tensor
    error: Tensor

    def __init__(self, average: str | None = "mean") -> None:
        super().__init__()
        if average not in ("mean", None):
            raise ValueError(f'R2: average must be "mean" or None, got {average!r}')
        self.average = average
        self.add_state("count", _C.tensor(0.0, dtype=_C.float64))
        for name in ("mean", "deviation", "error"):
            self.add_state(name, _C.zeros(0, dtype=_C.float64))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take predictions and true values of shape (N,) or (N, outputs)."""
        found, true = _pair("R2", preds, target)
        if true.ndim not in (1, 2):
            raise ValueError(f"R2: expected (N,) or (N, outputs), got {tuple(true.shape)}")
        if len(true) == 0:
            return
        found, true = found.reshape(len(found), -1), true.reshape(len(true), -1)
        mean = true.mean(0)
        self._merge_states(
            {
                "count": _C.tensor(float(len(true)), dtype=_C.float64),
                "mean": mean,
                "deviation": ((true - mean) ** 2).sum(0),
                "error": ((true - found) ** 2).sum(0),
            }
        )

    def _merge_states(self, other: dict[str, Any]) -> None:
        """Chan's formula: adding sums of squares around each mean directly would cancel."""
        if not other["count"]:
            return
        if not self.count:
            self.load_state_dict(other)
            return
        if self.mean.shape != other["mean"].shape:
            raise ValueError(
                f"R2: {len(other['mean'])} outputs do not fit the {len(self.mean)} of before"
            )
        count = self.count + other["count"]
        delta = other["mean"] - self.mean
        self.deviation = (
            self.deviation + other["deviation"] + delta**2 * self.count * other["count"] / count
        )
        self.mean = self.mean + delta * other["count"] / count
        self.error = self.error + other["error"]
        self.count = count

    def compute(self) -> Tensor:
        if self.count < 2:
            return _C.tensor(float("nan"), dtype=_C.float64)
        exact = (self.error == 0).double()
        constant = self.deviation == 0
        scores: Tensor = 1 - self.error / _C.where(
            constant, _C.ones_like(self.deviation), self.deviation
        )
        scores = _C.where(constant, exact, scores)
        return scores.mean() if self.average else scores
