"""Composite activation functions."""

from __future__ import annotations

import warnings

from genesis import _C
from genesis._C import Tensor

__all__ = [
    "gumbel_softmax",
    "log_softmax",
    "rrelu",
    "rrelu_",
    "softmax",
    "softmin",
    "tanhshrink",
]


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``.

    >>> tanhshrink(genesis.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - _C.tanh(input)


def _slopes(input: Tensor, lower: float, upper: float, training: bool) -> Tensor | float:
    if lower > upper:
        raise ValueError(f"rrelu: lower must not be greater than upper, got {lower} and {upper}")
    if not training:
        return (lower + upper) / 2
    with _C.no_grad():
        return _C.empty_like(input, requires_grad=False).uniform_(lower, upper)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A leaky relu whose slopes are drawn uniformly, or, out of training, are their mean.

    >>> rrelu(genesis.tensor([-1.0, 1.0]), 0.25, 0.75)
    tensor([-0.5000,  1.0000])
    """
    slopes = _slopes(input, lower, upper, training)
    if isinstance(slopes, Tensor):
        return _C._leaky(input, slopes, inplace)
    return _C.leaky_relu(input, slopes, inplace)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """``rrelu``, in place.

    >>> x = genesis.tensor([-1.0, 1.0])
    >>> rrelu_(x, 0.25, 0.75) is x
    True
    """
    return rrelu(input, lower, upper, training, True)


def _implicit_dim(name: str, input: Tensor, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``, computed in ``dtype``.

    >>> softmax(genesis.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input, _stacklevel)
    return _C.softmax(input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """``log(softmax(x))`` along ``dim``, computed in ``dtype``.

    >>> log_softmax(genesis.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input, _stacklevel)
    return _C.log_softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: _C.dtype | None = None
) -> Tensor:
    """``softmax(-x)`` along ``dim``, computed in ``dtype``.

    >>> softmin(genesis.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmin", input, _stacklevel)
    return _C.softmin(input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A draw from a categorical distribution, softened by the temperature ``tau``.

    With ``hard`` the values are 0 and 1; the gradient is that of the soft ones. ``eps`` has no
    effect, as in PyTorch.

    >>> float(gumbel_softmax(genesis.zeros(5), hard=True).sum())
    1.0
    """
    with _C.no_grad():
        noise = -_C.empty_like(logits, requires_grad=False).exponential_().log()
    soft = _C.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    with _C.no_grad():
        chosen = _C.zeros_like(soft).scatter_(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft
