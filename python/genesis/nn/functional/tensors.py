"""Functions of tensors that earlier programs look for in ``nn.functional``.

Where PyTorch's operator of the name has other parameters, they are those of these programs:
``max(a, axis)`` gives values only, ``split(a, dim)`` takes a tensor apart into pieces of size 1.
``nn.functional`` finds them, and after them all operators of the package, when a name is not its
own; ``from genesis.nn.functional import *`` does not bring them.
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn.functional.attention import scaled_dot_product_attention
from genesis.nn.functional.classification import cross_entropy as sparse_cross_entropy

Axis = int | tuple[int, ...] | list[int] | None

negate = _C.neg
truediv = _C.div
summation = _C.sum
sparse_cross_entropy = sparse_cross_entropy  # class indices are what cross_entropy expects anyway


def add_scalar(a: Tensor, scalar: float) -> Tensor:
    """``a + scalar``."""
    return a + scalar


def sub_scalar(a: Tensor, scalar: float, reverse: bool = False) -> Tensor:
    """``a - scalar``, or ``scalar - a`` if ``reverse``."""
    return scalar - a if reverse else a - scalar


def mul_scalar(a: Tensor, scalar: float) -> Tensor:
    """``a * scalar``."""
    return a * scalar


def divide_scalar(a: Tensor, scalar: float, reverse: bool = False) -> Tensor:
    """``a / scalar``, or ``scalar / a`` if ``reverse``."""
    return scalar / a if reverse else a / scalar


def pow_scalar(a: Tensor, scalar: float, reverse: bool = False) -> Tensor:
    """``a ** scalar``, or ``scalar ** a`` if ``reverse``."""
    return scalar**a if reverse else a**scalar


def floordiv(a: Tensor, b: Tensor | float) -> Tensor:
    """``a // b``."""
    return a // b


def add_inplace(a: Tensor, b: Tensor | float) -> Tensor:
    """``a += b``."""
    return a.add_(b)


def sub_inplace(a: Tensor, b: Tensor | float) -> Tensor:
    """``a -= b``."""
    return a.sub_(b)


def mul_inplace(a: Tensor, b: Tensor | float) -> Tensor:
    """``a *= b``."""
    return a.mul_(b)


def flatten(a: Tensor, start_dim: int = 0, end_dim: int | None = None) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` (the last, if not given) as one."""
    return _C.flatten(a, start_dim, -1 if end_dim is None else end_dim)


def transpose(a: Tensor, dim0: Any = None, dim1: int | None = None, axis: Axis = None) -> Tensor:
    """Two dimensions swapped: ``(a, 0, 1)``, ``(a, (0, 1))`` or ``axis=(0, 1)``; the last two if
    none are named."""
    named = axis if axis is not None else dim0
    if named is None:
        return a.transpose()
    return a.transpose(named, dim1) if dim1 is not None else a.transpose(named)


def reshape(a: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape."""
    return a.reshape(*shape)


def view(a: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape."""
    return a.view(*shape)


def expand(a: Tensor, *shape: Any) -> Tensor:
    """Dimensions of size 1 repeated, without a copy."""
    return a.expand(*shape)


def contiguous(a: Tensor) -> Tensor:
    """The tensor with its elements in order."""
    return a.contiguous()


def getitem(a: Tensor, index: Any) -> Tensor:
    """``a[index]``."""
    return a[index]


def setitem(a: Tensor, index: Any, value: Any) -> Tensor:
    """``a[index] = value``, and ``a``."""
    a[index] = value
    return a


def _values(found: Any) -> Tensor:
    return found if isinstance(found, Tensor) else found.values


def max(a: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The largest elements; unlike ``genesis.max(a, dim)``, without their places."""
    return _values(_C.max(a, **{"axis": axis, "keepdims": keepdims}))  # type: ignore[arg-type]


def min(a: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The smallest elements; unlike ``genesis.min(a, dim)``, without their places."""
    return _values(_C.min(a, **{"axis": axis, "keepdims": keepdims}))  # type: ignore[arg-type]


def split(
    a: Tensor, dim: int | None = None, axis: int | None = None, split_size: Any = 1
) -> tuple[Tensor, ...]:
    """Pieces of size 1, or ``split_size``, along ``dim``."""
    along = axis if axis is not None else 0 if dim is None else dim
    return tuple(_C.split(a, split_size, along))


def fused_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention: each query sees the keys up to its own place."""
    return scaled_dot_product_attention(q, k, v, is_causal=True)


NAMES = frozenset(
    name for name, value in list(globals().items()) if callable(value) and name[0] != "_"
) - {"Any", "Tensor", "Axis", "scaled_dot_product_attention"}
