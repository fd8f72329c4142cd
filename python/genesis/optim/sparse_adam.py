"""Adam for sparse gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class SparseAdam(Optimizer):
    r"""Adam whose step changes only the elements that the sparse gradient stores.

    Moments of other elements are unchanged: they do not decay.

    >>> table = genesis.nn.Embedding(3, 2, sparse=True)
    >>> optimizer = SparseAdam(table.parameters())
    >>> table(genesis.tensor([0, 2])).sum().backward()
    >>> table.weight.grad.is_sparse
    True
    >>> optimizer.step()
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        if not group["lr"] > 0 or not group["eps"] > 0:
            raise ValueError(
                f"SparseAdam: lr and eps must be positive, got {group['lr']} and {group['eps']}"
            )
        for beta in group["betas"]:
            if not 0 <= beta < 1:
                raise ValueError(f"SparseAdam: betas must be in [0, 1), got {group['betas']}")

    def _update(self, group: ParamGroup) -> None:
        for p in group["params"]:
            if p.grad is not None:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead; "
                    "nn.Embedding(sparse=True) has sparse ones"
                )

    def _sparse_formula(
        self, p: Tensor, index: Tensor, g: Tensor, state: dict[str, Any], group: ParamGroup
    ) -> None:
        if not state:
            state.update(step=0, exp_avg=_C.zeros_like(p), exp_avg_sq=_C.zeros_like(p))
        state["step"] += 1
        where, (beta1, beta2) = tuple(index), group["betas"]
        mean = state["exp_avg"][where].lerp(g, 1 - beta1)
        square = state["exp_avg_sq"][where].lerp(g * g, 1 - beta2)
        state["exp_avg"].index_put_(where, mean)
        state["exp_avg_sq"].index_put_(where, square)
        first, second = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
        rate = group["lr"] * math.sqrt(second) / first
        p.index_put_(where, -rate * mean / (square.sqrt() + group["eps"]), accumulate=True)
