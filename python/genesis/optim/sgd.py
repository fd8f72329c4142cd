"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from genesis._C import no_grad
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
    >>> p.tolist()
    [0.0, 0.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, options)

    def check_options(self, group: ParamGroup) -> None:
        for name in ("lr", "momentum", "weight_decay"):
            if not group[name] >= 0:
                raise ValueError(f"SGD: {name} must not be negative, got {group[name]}")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("SGD: nesterov needs a momentum, and no dampening")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = self._evaluate(closure)
        with no_grad():
            for group in self.param_groups:
                self._step(group)
        return loss

    def _step(self, group: ParamGroup) -> None:
        lr, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        for p in group["params"]:
            d = p.grad
            if d is None:
                continue
            if group["maximize"]:
                d = -d
            if decay:
                d = d.add(p, alpha=decay)
            if momentum:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = d.detach().clone()
                else:
                    buffer.mul_(momentum).add_(d, alpha=1 - group["dampening"])
                d = d.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            p.add_(d, alpha=-lr)
