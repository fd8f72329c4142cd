"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class ASGD(Optimizer):
    r"""Averaged gradient descent: plain steps of falling size, and in the state ``ax`` the
    average of the values from step ``t0`` on.

    .. math:: p = (1 - \lambda \eta_t) p - \eta_t g, \quad
              \eta_t = \eta / (1 + \lambda \eta t)^\alpha

    where ``lambd`` is lambda.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = ASGD([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.98, 0.98]
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "weight_decay")

    def _update(self, group: ParamGroup) -> None:
        _C._asgd_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        lr, lambd = group["lr"], group["lambd"]
        step = self._advance(state)
        eta, mu = (float(state[k]) for k in ("eta", "mu")) if "eta" in state else (lr, 1.0)
        g = g + group["weight_decay"] * p
        p = p * (1 - lambd * eta) - eta * g
        average = state.get("ax", p)
        state["ax"] = p if mu == 1 else average + (p - average) * mu
        state["eta"] = _C.tensor(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"] = _C.tensor(1 / max(1.0, step - group["t0"]))
        return p
