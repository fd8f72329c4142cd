"""Relatives of Adam: NAdam, RAdam and Adamax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class NAdam(Optimizer):
    r"""Adam with Nesterov momentum: the step mixes the gradient and the average to come.

    The momentum of step t is beta1 * (1 - 0.96 ** (t * momentum_decay) / 2).

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = NAdam([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.9979, 0.9979]
    """

    @options_from_signature(
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach "
        "capturable differentiable"
    )
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "eps", "weight_decay", "momentum_decay")
        self._require_betas(group)

    def _update(self, group: ParamGroup) -> None:
        _C._nadam_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        beta1, beta2 = group["betas"]
        step = self._advance(state)
        mu, mu_next = (
            beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1)
        )
        product = state["mu_product"] = state.get("mu_product", 1.0) * Tensor(mu)
        p, g = self._decayed(p, g, group)
        m, v = self._moments(g, state, beta1, beta2)
        denominator = (v / (1 - beta2**step)).sqrt() + group["eps"]
        blend = g * ((1 - mu) / (1 - product)) + m * (mu_next / (1 - product * mu_next))
        return p - group["lr"] * blend / denominator


class RAdam(Optimizer):
    r"""Rectified Adam: plain averages at first, then Adam as its variance settles.

    The step is scaled by a rectification that grows with the number of steps averaged over.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = RAdam([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.998, 0.998]
    """

    @options_from_signature(
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay "
        "differentiable"
    )
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "eps", "weight_decay")
        self._require_betas(group)

    def _update(self, group: ParamGroup) -> None:
        _C._radam_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        beta1, beta2 = group["betas"]
        step = self._advance(state)
        p, g = self._decayed(p, g, group)
        m, v = self._moments(g, state, beta1, beta2)
        d = group["lr"] * m / (1 - beta1**step)
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / (1 - beta2**step)
        if length <= 5:
            return p - d
        ratio = (length - 4) * (length - 2) * longest
        ratio /= (longest - 4) * (longest - 2) * length
        return p - d * (ratio * (1 - beta2**step)) ** 0.5 / (v.sqrt() + group["eps"])


class Adamax(Optimizer):
    r"""Adam with the largest gradient seen, slowly forgotten, in place of the mean square.

    .. math:: u = \max(\beta_2 u, |g| + \epsilon), \quad p = p - \eta \hat m / u

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = Adamax([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> [round(x, 4) for x in p.tolist()]
    [0.998, 0.998]
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "eps", "weight_decay")
        self._require_betas(group)

    def _update(self, group: ParamGroup) -> None:
        _C._adamax_step(group, self.state)

    def _formula(self, p: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup) -> Any:
        beta1, beta2 = group["betas"]
        step = self._advance(state)
        g = g + group["weight_decay"] * p
        m = state["exp_avg"] = state.get("exp_avg", p * 0).lerp(g, 1 - beta1)
        largest = g.abs() + group["eps"]
        if "exp_inf" in state:
            largest = (state["exp_inf"] * beta2).maximum(largest)
        state["exp_inf"] = largest
        return p - group["lr"] / (1 - beta1**step) * m / largest
