"""Piecewise linear activation functions."""

from __future__ import annotations

import warnings
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.activation import _WithInplace
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = [
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "Softshrink",
    "Threshold",
]


class ReLU(_WithInplace):
    """``max(x, 0)``.

    >>> ReLU()(genesis.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.relu(input, self.inplace)


class Hardsigmoid(_WithInplace):
    """``clamp(x + 3, 0, 6) / 6``.

    >>> Hardsigmoid()(genesis.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_WithInplace):
    """``x * clamp(x + 3, 0, 6) / 6``.

    >>> Hardswish()(genesis.tensor([-4.0, 0.0, 4.0]))
    tensor([-0.,  0.,  4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardtanh(Module):
    """x, bounded by ``min_val`` and ``max_val``.

    >>> Hardtanh()(genesis.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None or max_value is not None:
            warnings.warn(
                "Hardtanh: min_value and max_value are old names of min_val and max_val",
                FutureWarning,
                stacklevel=2,
            )
            min_val = min_val if min_value is None else min_value
            max_val = max_val if max_value is None else max_value
        if not min_val < max_val:
            raise ValueError(
                f"{type(self).__name__}: max_val must be greater than min_val, got {min_val} and "
                f"{max_val}"
            )
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        bounds = f"min_val={self.min_val}, max_val={self.max_val}"
        return bounds + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """x, bounded by 0 and 6.

    >>> ReLU6()(genesis.tensor([-1.0, 3.0, 7.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """x for x > 0, ``negative_slope * x`` below.

    >>> LeakyReLU(0.1)(genesis.tensor([-1.0, 1.0]))
    tensor([-0.1000,  1.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return _C.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """A leaky ReLU whose slopes are drawn uniformly in training, and are their mean otherwise.

    >>> RReLU(0.25, 0.75).eval()(genesis.tensor([-1.0, 1.0]))
    tensor([-0.5000,  1.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )


class PReLU(Module):
    """A leaky ReLU that learns its slope, or, with ``num_parameters``, one for each channel.

    >>> PReLU()(genesis.tensor([-1.0, 1.0])).tolist()
    [-0.25, 1.0]
    """

    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters  # type: ignore[method-assign,assignment]
        self.init = init
        self.weight = Parameter(_C.empty(num_parameters, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Put the slopes back to ``init``."""
        with _C.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return _C.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Hardshrink(Module):
    """0 for ``abs(x) <= lambd``, x elsewhere.

    >>> Hardshrink()(genesis.tensor([0.25, 1.0]))
    tensor([0., 1.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return _C.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """0 for ``abs(x) <= lambd``, x moved towards 0 by ``lambd`` elsewhere.

    >>> Softshrink()(genesis.tensor([0.25, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Threshold(Module):
    """x where it is above ``threshold``, else ``value``.

    >>> Threshold(0.5, 20.0)(genesis.tensor([0.25, 1.0]))
    tensor([20.,  1.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return _C.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (
            ", inplace=True" if self.inplace else ""
        )
