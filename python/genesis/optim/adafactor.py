"""Adafactor: Adam's scaling in little memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class Adafactor(Optimizer):
    r"""Adam's scaling, with the mean squares of a matrix kept as a row and a column (Shazeer and
    Stern, 2018).

    The step is relative to the size of the parameter: its scale is
    ``max(eps2, rms(p)) * min(lr, 1 / sqrt(t))``, and its root mean square is at most ``d``.
    ``eps`` is the pair of bounds (eps1 of the mean squares, by default the dtype's own; eps2).
    Squares are averaged with :math:`\beta_2 = 1 - t^{\text{beta2\_decay}}`.

    >>> p = genesis.nn.Parameter(genesis.ones(2, 2))
    >>> optimizer = Adafactor([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist()[0]
    [0.9900000095367432, 0.9900000095367432]
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "weight_decay")
        self._require(
            group["beta2_decay"] <= 0, "beta2_decay must not be positive", group["beta2_decay"]
        )
        eps1, eps2 = group["eps"]
        self._require(
            (eps1 is None or eps1 >= 0) and eps2 >= 0, "eps must not be negative", group["eps"]
        )
        self._require(group["d"] >= 1, "d must be at least 1", group["d"])

    def _update(self, group: ParamGroup) -> None:
        self._refuse_complex(group)
        _C._adafactor_step(group, self.state)
