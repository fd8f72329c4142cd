"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class SGD(Optimizer):
    r"""Gradient descent with momentum.

    .. math:: d = g + \lambda p, \quad b = \mu b + (1 - \tau) d, \quad p = p - \eta b

    where ``lr`` is eta, ``momentum`` mu (in the first step b = d), ``dampening`` tau and
    ``weight_decay`` lambda. ``nesterov`` uses d + mu b in place of b; ``maximize`` climbs.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.0, 0.0]
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "momentum", "weight_decay")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("SGD: nesterov needs a momentum, and no dampening")

    def _update(self, group: ParamGroup) -> None:
        _C._sgd_step(group, self.state)

    def _sparse_formula(
        self, p: Tensor, index: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup
    ) -> None:
        if group["weight_decay"]:
            raise RuntimeError("SGD: weight_decay is not possible with sparse gradients")
        where, lr, momentum = tuple(index), group["lr"], group["momentum"]
        if not momentum:
            p.index_put_(where, -lr * g, accumulate=True)
            return
        buffer = state.get("momentum_buffer")
        first = buffer is None
        buffer = _C.zeros_like(p) if first else buffer * momentum
        scale = 1.0 if first else 1 - group["dampening"]
        buffer.index_put_(where, scale * g, accumulate=True)
        state["momentum_buffer"] = buffer
        if group["nesterov"]:
            p.index_put_(where, -lr * g, accumulate=True)
        p.sub_(lr * (momentum if group["nesterov"] else 1) * buffer)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        momentum = group["momentum"]
        d = g + group["weight_decay"] * p
        if momentum:
            buffer = state.get("momentum_buffer")
            buffer = d if buffer is None else momentum * buffer + (1 - group["dampening"]) * d
            state["momentum_buffer"] = buffer
            d = d + momentum * buffer if group["nesterov"] else buffer
        return p - group["lr"] * d
