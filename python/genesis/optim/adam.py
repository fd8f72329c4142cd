"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class Adam(Optimizer):
    r"""Adam: steps scaled by running averages of the gradient and of its square.

    .. math:: m = \beta_1 m + (1 - \beta_1) g, \quad v = \beta_2 v + (1 - \beta_2) g^2, \quad
              p = p - \eta \hat m / (\sqrt{\hat v} + \epsilon)

    with hats for m and v divided by 1 - beta^t. ``weight_decay`` adds to g, or, if decoupled,
    shrinks p; ``amsgrad`` uses the largest v so far.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = Adam([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.999, 0.999]
    """

    @options_from_signature(
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused "
        "decoupled_weight_decay"
    )
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "eps", "weight_decay")
        self._require_betas(group)

    def _update(self, group: ParamGroup) -> None:
        _C._adam_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        beta1, beta2 = group["betas"]
        step = self._advance(state)
        p, g = self._decayed(p, g, group)
        m, v = self._moments(g, state, beta1, beta2)
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"] = state.get("max_exp_avg_sq", v).maximum(v)
        denominator = v.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        return p - group["lr"] / (1 - beta1**step) * m / denominator


class AdamW(Adam):
    r"""Adam with decoupled weight decay: p is multiplied by 1 - lr * weight_decay in each step.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = AdamW([p], lr=0.5, weight_decay=0.2)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.4, 0.4]
    """

    @options_from_signature(decoupled_weight_decay=True)
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
