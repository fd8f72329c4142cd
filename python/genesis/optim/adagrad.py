"""Adagrad and what followed it: Adadelta and RMSprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class Adagrad(Optimizer):
    r"""Steps divided by the root of the sum of all squared gradients so far.

    .. math:: s = s + g^2, \quad
              p = p - \frac{\eta}{1 + (t - 1) \delta} \frac{g}{\sqrt s + \epsilon}

    where ``lr_decay`` is delta.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = Adagrad([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.99, 0.99]
    """

    @options_from_signature(
        "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize "
        "differentiable fused"
    )
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        names = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
        self._require_not_negative(group, *names)
        for p in group["params"]:
            self.state[p] = {
                "step": _C.tensor(0.0),
                "sum": _C.full_like(p, group["initial_accumulator_value"]),
            }

    def _update(self, group: ParamGroup) -> None:
        _C._adagrad_step(group, self.state)

    def _sparse_formula(
        self, p: Tensor, index: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup
    ) -> None:
        if group["weight_decay"]:
            raise RuntimeError("Adagrad: weight_decay is not possible with sparse gradients")
        where = tuple(index)
        step = self._advance(state)
        state["sum"].index_put_(where, g * g, accumulate=True)
        lr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        p.index_put_(where, -lr * g / (state["sum"][where].sqrt() + group["eps"]), accumulate=True)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        step = self._advance(state)
        g = g + group["weight_decay"] * p
        total = state["sum"] = state["sum"] + g * g
        lr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        return p - lr * g / (total.sqrt() + group["eps"])


class Adadelta(Optimizer):
    r"""Steps as large as recent steps were, for gradients as large as recent gradients were.

    .. math:: v = \rho v + (1 - \rho) g^2, \quad
              d = g \sqrt{u + \epsilon} / \sqrt{v + \epsilon}, \quad
              u = \rho u + (1 - \rho) d^2, \quad p = p - \eta d

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = Adadelta([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.9968, 0.9968]
    """

    @options_from_signature("lr rho eps weight_decay maximize capturable foreach differentiable")
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "eps", "weight_decay")
        self._require(bool(0 <= group["rho"] <= 1), "rho must be between 0 and 1", group["rho"])

    def _update(self, group: ParamGroup) -> None:
        _C._adadelta_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        rho, eps = group["rho"], group["eps"]
        self._advance(state)
        g = g + group["weight_decay"] * p
        v = state["square_avg"] = rho * state.get("square_avg", p * 0) + (1 - rho) * g * g
        u = state.get("acc_delta", p * 0)
        d = g * (u + eps).sqrt() / (v + eps).sqrt()
        state["acc_delta"] = rho * u + (1 - rho) * d * d
        return p - group["lr"] * d


class RMSprop(Optimizer):
    r"""Steps divided by the root of a running average of the squared gradient.

    .. math:: v = \alpha v + (1 - \alpha) g^2, \quad p = p - \eta g / (\sqrt v + \epsilon)

    ``momentum`` averages the steps; ``centered`` subtracts the squared average gradient from v.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = RMSprop([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.9, 0.9]
    """

    @options_from_signature(
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    )
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "eps", "weight_decay", "momentum", "alpha")

    def _update(self, group: ParamGroup) -> None:
        _C._rmsprop_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        alpha, momentum = group["alpha"], group["momentum"]
        self._advance(state)
        g = g + group["weight_decay"] * p
        v = state["square_avg"] = alpha * state.get("square_avg", p * 0) + (1 - alpha) * g * g
        if group["centered"]:
            average = state["grad_avg"] = state.get("grad_avg", p * 0).lerp(g, 1 - alpha)
            v = v - average * average
        d = g / (v.sqrt() + group["eps"])
        if momentum:
            d = state["momentum_buffer"] = momentum * state.get("momentum_buffer", p * 0) + d
        return p - group["lr"] * d
