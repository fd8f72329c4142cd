"""Names of older PyTorch and of earlier tensor libraries, which programs still use.

Everything here is a thin layer over what the rest of the package has under its own name.
"""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "cuda_available",
    "layout",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]


# ---- classes of tensors of one dtype -----------------------------------------------------------


class _TypedTensor(type):
    """The class of FloatTensor etc.: creates plain tensors and recognizes them by dtype."""

    dtype: _C.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if len(args) == 1 and not isinstance(args[0], (int, _C.Size)):
            return _C.tensor(args[0], dtype=cls.dtype, device=device)
        sizes = args[0] if args and isinstance(args[0], _C.Size) else args or (0,)
        return _C.empty(tuple(sizes), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.dtype == cls.dtype

    @property
    def name(cls) -> str:
        """The name of the dtype: the class is accepted wherever a dtype is expected."""
        return cls.dtype.name

    def __repr__(cls) -> str:
        return f"<class 'genesis.{cls.__name__}'>"


class FloatTensor(metaclass=_TypedTensor):
    """``FloatTensor(2, 3)`` has new memory, ``FloatTensor([1, 2])`` these values, in float32.

    >>> FloatTensor([1, 2])
    tensor([1., 2.])
    >>> isinstance(genesis.ones(2), FloatTensor)
    True
    """

    dtype = _C.float32


class DoubleTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in float64."""

    dtype = _C.float64


class HalfTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in float16."""

    dtype = _C.float16


class BFloat16Tensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in bfloat16."""

    dtype = _C.bfloat16


class LongTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in int64."""

    dtype = _C.int64


class IntTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in int32."""

    dtype = _C.int32


class ShortTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in int16."""

    dtype = _C.int16


class CharTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in int8."""

    dtype = _C.int8


class ByteTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in uint8."""

    dtype = _C.uint8


class BoolTensor(metaclass=_TypedTensor):
    """As `FloatTensor`, in bool."""

    dtype = _C.bool


# ---- layouts -----------------------------------------------------------------------------------


class layout:
    """How the elements of a tensor are stored. All tensors are `strided`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"{'torch' if _C._is_exact_torch() else 'genesis'}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided: layout = layout("strided")
sparse_coo: layout = layout("sparse_coo")
sparse_csr: layout = layout("sparse_csr")
sparse_csc: layout = layout("sparse_csc")
sparse_bsr: layout = layout("sparse_bsr")
sparse_bsc: layout = layout("sparse_bsc")


# ---- devices -----------------------------------------------------------------------------------


def cuda_available() -> bool:
    """Whether tensors can be on a CUDA device: no.

    >>> cuda_available()
    False
    """
    return False
