"""Affine layers."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn import init
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Returns its input. Takes any arguments, so that it can stand where another layer stood.

    >>> Identity(54, unused=True)(genesis.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


def _either(first: int | None, second: int | None, names: tuple[str, str]) -> int:
    if (first is None) == (second is None):
        raise TypeError(
            f"Linear: pass one of {names[0]} and {names[1]}, which are two names of one argument"
        )
    size = second if first is None else first
    if not isinstance(size, SupportsIndex):
        raise TypeError(
            f"Linear: {names[0]} must be an int, got {size!r}; use int(...), or // instead of /"
        )
    return int(size)


class Linear(Module):
    r"""``x @ weight.T + bias``, where weight is (out_features, in_features).

    Weight and bias begin uniform in :math:`\pm 1/\sqrt{\text{in\_features}}`.

    >>> Linear(in_features=20, out_features=30)(genesis.ones(128, 20)).shape
    genesis.Size([128, 30])
    >>> Linear(input_size=20, output_size=30, bias=False)
    Linear(in_features=20, out_features=30, bias=False)
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int | None = None,
        out_features: int | None = None,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        input_size: int | None = None,
        output_size: int | None = None,
    ) -> None:
        super().__init__()
        self.in_features = _either(in_features, input_size, ("in_features", "input_size"))
        self.out_features = _either(out_features, output_size, ("out_features", "output_size"))
        shape = self.out_features, self.in_features
        self.weight = Parameter(_C.empty(shape, dtype=dtype, device=device))
        self.register_parameter(
            "bias",
            Parameter(_C.empty(self.out_features, dtype=dtype, device=device)) if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    r"""``x1 @ weight[k] @ x2 + bias[k]`` for every k, where weight is (out, in1, in2).

    Weight and bias begin uniform in :math:`\pm 1/\sqrt{\text{in1\_features}}`.

    >>> layer = Bilinear(20, 30, 40)
    >>> layer(genesis.ones(128, 20), genesis.ones(128, 30)).shape
    genesis.Size([128, 40])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"Bilinear: in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = out_features, in1_features, in2_features
        self.weight = Parameter(_C.empty(shape, dtype=dtype, device=device))
        self.register_parameter(
            "bias",
            Parameter(_C.empty(out_features, dtype=dtype, device=device)) if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize weight and bias."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
