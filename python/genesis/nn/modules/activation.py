"""Smooth activation functions."""

from __future__ import annotations

from collections.abc import Callable

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "Residual",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    >>> Sigmoid()(genesis.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.sigmoid(input)


class Tanh(Module):
    """``tanh(x)``.

    >>> Tanh()(genesis.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.tanh(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``.

    >>> LogSigmoid()(genesis.zeros(1))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + abs(x))``.

    >>> Softsign()(genesis.ones(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    >>> Tanhshrink()(genesis.ones(1))
    tensor([0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class GELU(Module):
    """x times the probability that a normal number is below x.

    ``approximate="tanh"`` takes the usual approximation by tanh.

    >>> GELU()(genesis.ones(1))
    tensor([0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return _C.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class _WithInplace(Module):
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class SiLU(_WithInplace):
    """``x * sigmoid(x)``.

    >>> SiLU()(genesis.ones(1))
    tensor([0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.silu(input, self.inplace)


class Mish(_WithInplace):
    """``x * tanh(softplus(x))``.

    >>> Mish()(genesis.ones(1))
    tensor([0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_WithInplace):
    """An ELU with constants that keep mean 0 and variance 1.

    >>> SELU()(genesis.ones(1))
    tensor([1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.selu(input, self.inplace)


class ELU(Module):
    """x for x > 0, ``alpha * (exp(x) - 1)`` below.

    >>> ELU()(genesis.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return _C.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """x for x > 0, ``alpha * (exp(x / alpha) - 1)`` below.

    >>> CELU(alpha=2.0)(genesis.tensor([-1.0, 1.0]))
    tensor([-0.7869,  1.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return _C.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x > threshold``.

    >>> Softplus()(genesis.zeros(1))
    tensor([0.6931])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return _C.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class GLU(Module):
    """``a * sigmoid(b)``, where a and b are the halves of the input along ``dim``.

    >>> GLU()(genesis.tensor([2.0, 0.0]))
    tensor([1.])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _AlongDim(Module):
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    >>> Softmax(dim=1)(genesis.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, 5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """``softmax(-x)`` along ``dim``.

    >>> Softmin(dim=1)(genesis.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, 5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(_AlongDim):
    """``log(softmax(x))`` along ``dim``.

    >>> LogSoftmax(dim=1)(genesis.zeros(1, 2))
    tensor([[-0.6931, -0.6931]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, 5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W), at every place of an image.

    >>> Softmax2d()(genesis.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected 3D or 4D input (got {input.ndim}D input)")
        return _C.softmax(input, -3)


class Residual(Module):
    """``x + fn(x)``, where ``fn`` is a module or a function.

    >>> Residual(genesis.nn.ReLU())(genesis.tensor([-1.0, 2.0]))
    tensor([-1.,  4.])
    """

    def __init__(self, fn: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: Tensor) -> Tensor:
        return x + self.fn(x)
