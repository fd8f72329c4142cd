"""Optimizers that follow the sign of the gradient: Rprop and Lion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class Rprop(Optimizer):
    r"""Steps that know only signs: a step size for each element, which grows while the sign of
    its gradient stays, and shrinks when it changes.

    ``etas`` are the factors (shrink, grow), ``step_sizes`` the smallest and the largest.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = Rprop([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.99, 0.99]
    """

    @options_from_signature("lr etas step_sizes foreach maximize differentiable capturable")
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr")
        shrink, grow = group["etas"]
        self._require(0 < shrink < 1 < grow, "etas must be around 1: 0 < a < 1 < b", group["etas"])

    def _update(self, group: ParamGroup) -> None:
        _C._rprop_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        self._advance(state)
        shrink, grow = group["etas"]
        agreement = (g * state.get("prev", p * 0)).detach()
        size = state["step_size"] if "step_size" in state else _C.full_like(p, group["lr"])
        size = _C.where(agreement > 0, size * grow, size)
        size = _C.where(agreement < 0, size * shrink, size).clamp(*group["step_sizes"])
        state["step_size"] = size
        g = state["prev"] = g.masked_fill(agreement < 0, 0.0)
        return p - g.sign() * size


class Lion(Optimizer):
    r"""Sign of a momentum (Chen et al., 2023): every element moves by ``lr`` in each step.

    .. math:: p = (1 - \eta \lambda) p - \eta\, \mathrm{sign}(\beta_1 m + (1 - \beta_1) g), \quad
              m = \beta_2 m + (1 - \beta_2) g

    Choose ``lr`` 3 to 10 times smaller than for AdamW, and ``weight_decay`` as much larger.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = Lion([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.5, 0.5]
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "weight_decay")
        self._require_betas(group)

    def _update(self, group: ParamGroup) -> None:
        _C._lion_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        beta1, beta2 = group["betas"]
        m = state.get("exp_avg", p * 0)
        state["exp_avg"] = beta2 * m + (1 - beta2) * g
        p = p * (1 - group["lr"] * group["weight_decay"])
        return p - group["lr"] * (beta1 * m + (1 - beta1) * g).sign()
