"""dtypes by their names, and questions about them."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import (
    Tensor,
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from genesis._C import dtype as DType

__all__ = [
    "DType",
    "all_dtypes",
    "bfloat16",
    "bool",
    "default_dtype",
    "float16",
    "float32",
    "float64",
    "floating_dtypes",
    "get_dtype",
    "infer_dtype_from_data",
    "int8",
    "int16",
    "int32",
    "int64",
    "integer_dtypes",
    "is_floating_point",
    "is_integer",
    "uint8",
]

default_dtype = float32
all_dtypes = [float32, float16, float64, bfloat16, int32, int64, int16, int8, uint8, bool]


def get_dtype(obj: Any) -> DType:
    """The dtype for a name, a NumPy dtype, another library's dtype or None (float32).

    >>> get_dtype("float16"), get_dtype(None)
    (genesis.float16, genesis.float32)
    """
    if obj is None:
        return float32
    try:
        return _C._as_dtype(obj)
    except TypeError:
        name = str(obj).rpartition(".")[2]  # "torch.float32"
        for known in all_dtypes:
            if known.name == name:
                return known
        raise ValueError(
            f"get_dtype: {obj!r} names no dtype; use e.g. genesis.float32, 'float32' or "
            "numpy.float32"
        ) from None


def is_floating_point(dtype: Any) -> Any:
    """Whether a dtype, or the dtype of a tensor, is floating.

    >>> is_floating_point("float16"), is_floating_point(genesis.ones(1))
    (True, True)
    """
    return get_dtype(dtype.dtype if isinstance(dtype, Tensor) else dtype).is_floating_point


def is_integer(dtype: Any) -> Any:
    """Whether a dtype is an integer dtype; bool is not.

    >>> is_integer("uint8"), is_integer("bool")
    (True, False)
    """
    found = get_dtype(dtype)
    return not (found.is_floating_point or found.is_complex or found == bool)


def infer_dtype_from_data(array: Any) -> DType:
    """The dtype that ``genesis.tensor(array)`` has.

    >>> infer_dtype_from_data([1, 2]), infer_dtype_from_data(3.14)
    (genesis.int64, genesis.float32)
    """
    return array.dtype if isinstance(array, Tensor) else _C.tensor(array).dtype


floating_dtypes = [d for d in all_dtypes if d.is_floating_point]
integer_dtypes = [d for d in all_dtypes if is_integer(d)]
