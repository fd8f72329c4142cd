"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from genesis import Tensor
from genesis.distributions import constraints
from genesis.distributions.distribution import Shape
from genesis.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution with ``df`` degrees of freedom."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Chi2:
        new: Chi2 = self._get_checked_instance(Chi2, _instance)
        new.concentration, new.rate = (
            self.concentration.expand(batch_shape),
            self.rate.expand(batch_shape),
        )
        super(Gamma, new).__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def df(self) -> Tensor:
        return self.concentration * 2

    def _shown_parameters(self) -> list[str]:
        return []
