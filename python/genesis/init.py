"""Functions that make tensors, with the parameters that earlier programs give them.

`genesis` has most of them too; here ``dtype`` is float32 unless given, and the ``_like`` functions
take over ``requires_grad``.
"""

from __future__ import annotations

import math
from typing import Any

from genesis import _C
from genesis._C import Tensor, from_numpy

__all__ = [
    "arange",
    "constant",
    "empty",
    "empty_like",
    "eye",
    "from_numpy",
    "full",
    "kaiming_normal",
    "kaiming_uniform",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "rand",
    "randb",
    "randint",
    "randn",
    "randn_like",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
    "zeros_like",
]


def rand(
    *shape: Any,
    low: float = 0.0,
    high: float = 1.0,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform random numbers from [low, high)."""
    return _C.rand(
        *shape, low=low, high=high, device=device, dtype=dtype, requires_grad=requires_grad
    )


def randn(
    *shape: Any,
    mean: float = 0.0,
    std: float = 1.0,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """Normal random numbers."""
    return _C.randn(
        *shape, mean=mean, std=std, device=device, dtype=dtype, requires_grad=requires_grad
    )


def randn_like(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Normal random numbers in the shape, dtype and ``requires_grad`` of ``tensor``."""
    return randn(
        *tensor.shape,
        mean=mean,
        std=std,
        device=device,
        dtype=tensor.dtype if dtype is None else dtype,
        requires_grad=tensor.requires_grad if requires_grad is None else requires_grad,
    )


def constant(
    *shape: Any,
    c: float = 1.0,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor filled with ``c``.

    >>> constant(2, c=3.0)
    tensor([3., 3.])
    """
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return _C.full(sizes, c, device=device, dtype=dtype, requires_grad=requires_grad)


def ones(
    *shape: Any, device: Any = None, dtype: Any = _C.float32, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones."""
    return _C.ones(*shape, device=device, dtype=dtype, requires_grad=requires_grad)


def zeros(
    *shape: Any, device: Any = None, dtype: Any = _C.float32, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros."""
    return _C.zeros(*shape, device=device, dtype=dtype, requires_grad=requires_grad)


def full(
    shape: Any,
    fill_value: float,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor filled with one value."""
    return _C.full(shape, fill_value, device=device, dtype=dtype, requires_grad=requires_grad)


def empty(
    *shape: Any, device: Any = None, dtype: Any = _C.float32, requires_grad: bool = False
) -> Tensor:
    """A tensor of uninitialized memory."""
    return _C.empty(*shape, device=device, dtype=dtype, requires_grad=requires_grad)


def _like(make: Any, tensor: Tensor, dtype: Any, device: Any, requires_grad: bool | None) -> Tensor:
    grad = tensor.requires_grad if requires_grad is None else requires_grad
    made: Tensor = make(tensor, dtype=dtype, device=device)
    return made.requires_grad_(grad and made.is_floating_point())


def empty_like(
    tensor: Tensor, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
) -> Tensor:
    """New memory in the shape, dtype and ``requires_grad`` of ``tensor``."""
    return _like(_C.empty_like, tensor, dtype, device, requires_grad)


def zeros_like(
    tensor: Tensor, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
) -> Tensor:
    """Zeros in the shape, dtype and ``requires_grad`` of ``tensor``."""
    return _like(_C.zeros_like, tensor, dtype, device, requires_grad)


def ones_like(
    tensor: Tensor, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
) -> Tensor:
    """Ones in the shape, dtype and ``requires_grad`` of ``tensor``."""
    return _like(_C.ones_like, tensor, dtype, device, requires_grad)


def randb(
    *shape: Any,
    p: float = 0.5,
    device: Any = None,
    dtype: Any = "bool",
    requires_grad: bool = False,
) -> Tensor:
    """1 (or True) with probability p, else 0.

    >>> randb(3, p=1.0)
    tensor([True, True, True])
    """
    drawn = _C.rand(*shape, device=device) < p
    return drawn.to(dtype=dtype).requires_grad_(requires_grad)


def one_hot(
    n: int,
    i: Any,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """Rows of length ``n`` with a 1 at the places ``i``.

    >>> one_hot(3, [2])
    tensor([[0., 0., 1.]])
    """
    indices = _C.as_tensor(i, dtype=_C.int64, device=device)
    return _C.one_hot(indices, n).to(dtype=dtype).requires_grad_(requires_grad)


def xavier_uniform(fan_in: int, fan_out: int, gain: float = 1.0, **kwargs: Any) -> Tensor:
    """A (fan_in, fan_out) matrix, uniform in ± gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return rand(fan_in, fan_out, low=-bound, high=bound, **kwargs)


def xavier_normal(fan_in: int, fan_out: int, gain: float = 1.0, **kwargs: Any) -> Tensor:
    """A (fan_in, fan_out) matrix, normal with std gain * sqrt(2 / (fan_in + fan_out))."""
    return randn(fan_in, fan_out, std=gain * math.sqrt(2 / (fan_in + fan_out)), **kwargs)


def _gain(nonlinearity: str) -> float:
    from genesis.nn.init import calculate_gain

    return calculate_gain(nonlinearity)


def kaiming_uniform(fan_in: int, fan_out: int, nonlinearity: str = "relu", **kwargs: Any) -> Tensor:
    """A (fan_in, fan_out) matrix, uniform in ± gain * sqrt(3 / fan_in)."""
    bound = _gain(nonlinearity) * math.sqrt(3 / fan_in)
    return rand(fan_in, fan_out, low=-bound, high=bound, **kwargs)


def kaiming_normal(fan_in: int, fan_out: int, nonlinearity: str = "relu", **kwargs: Any) -> Tensor:
    """A (fan_in, fan_out) matrix, normal with std gain / sqrt(fan_in)."""
    return randn(fan_in, fan_out, std=_gain(nonlinearity) / math.sqrt(fan_in), **kwargs)


def eye(
    n: int,
    m: int | None = None,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """The identity matrix of n rows and m columns."""
    return _C.eye(n, m, device=device, dtype=dtype, requires_grad=requires_grad)


def randint(
    low: int,
    high: int,
    shape: Any,
    device: Any = None,
    dtype: Any = _C.int64,
    requires_grad: bool = False,
) -> Tensor:
    """Random integers from low to high - 1."""
    return _C.randint(low, high, shape, device=device, dtype=dtype, requires_grad=requires_grad)


def arange(
    start: float,
    end: float | None = None,
    step: float = 1,
    device: Any = None,
    dtype: Any = _C.float32,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from start (or 0) up to end, in float32 unless another dtype is given.

    >>> arange(3)
    tensor([0., 1., 2.])
    """
    first, last = (0, start) if end is None else (start, end)
    return _C.arange(first, last, step, device=device, dtype=dtype, requires_grad=requires_grad)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all elements of two vectors.

    >>> outer(genesis.tensor([1.0, 2.0]), genesis.tensor([3.0]))
    tensor([[3.],
            [6.]])
    """
    return _C.outer(input, vec2)
