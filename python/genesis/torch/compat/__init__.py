"""Private and older names of PyTorch that packages use; visible as ``torch.*`` only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import genesis
from genesis import _C
from genesis._C import Tensor
from genesis._legacy import layout
from genesis.storage import TypedStorage, UntypedStorage
from genesis.torch.compat._absent import absent_function

__all__ = [
    "DeviceObjType",
    "Storage",
    "StorageBase",
    "classes",
    "eig",
    "get_autocast_cpu_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cpu_enabled",
    "jagged",
    "legacy_contiguous_format",
    "lstsq",
    "matrix_rank",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qscheme",
    "set_autocast_cpu_dtype",
    "set_autocast_gpu_dtype",
    "set_default_tensor_type",
    "set_vital",
    "solve",
    "symeig",
]

legacy_contiguous_format = _C.contiguous_format
jagged = layout("jagged")


class qscheme(layout):
    """How quantized tensors would scale their integers: a name, as there are no such tensors."""


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
StorageBase = UntypedStorage
Storage = TypedStorage
DeviceObjType = _C.device


class _Classes(SimpleNamespace):
    """Classes of TorchScript by namespace: there are none."""

    loaded_libraries: frozenset[str] = frozenset()

    def load_library(self, path: str) -> None:
        """Raises: libraries are compiled for PyTorch's own C++ classes."""
        genesis.ops.load_library(path)


classes = _Classes()

# PyTorch has removed these, and raises as well.
symeig, eig, solve, lstsq, matrix_rank = (
    absent_function(name, f"use torch.linalg.{instead}")
    for name, instead in {
        "symeig": "eigh",
        "eig": "eig",
        "solve": "solve",
        "lstsq": "lstsq",
        "matrix_rank": "matrix_rank",
    }.items()
)


# ---- autocast by the name of the device ---------------------------------------------------------


def get_autocast_cpu_dtype() -> Any:
    """The dtype of autocast on the CPU."""
    return genesis.get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """The dtype of autocast on a GPU."""
    return genesis.get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Set the dtype of autocast on the CPU."""
    genesis.set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Set the dtype of autocast on a GPU."""
    genesis.set_autocast_dtype("cuda", dtype)


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU."""
    return genesis.is_autocast_enabled("cpu")


# ---- functions ----------------------------------------------------------------------------------


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a type of tensors: ``torch.DoubleTensor`` or its name."""
    name = t if isinstance(t, str) else t.__name__
    kind = getattr(genesis, name.rpartition(".")[2], None)
    if "cuda" in name or kind is None:
        raise TypeError(f"set_default_tensor_type: {name} is no type of tensors on the CPU")
    genesis.set_default_dtype(kind.dtype)


def set_vital(*args: Any) -> bool:
    """Nothing: a statistic of PyTorch's own use. Whether it was written: no."""
    return False


def _shape_as_tensor(x: Tensor) -> Tensor:
    return genesis.tensor(tuple(x.shape), dtype=genesis.int64)


def _standard_gamma(x: Tensor, generator: Any = None) -> Tensor:
    return _C._standard_gamma(x)


def _cast_Long(x: Tensor, non_blocking: bool = False) -> Tensor:
    return x.long()


def _has_compatible_shallow_copy_type(x: Tensor, y: Tensor) -> bool:
    return type(x) is type(y) and x.layout == y.layout


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Sorted numbers of rows as the places where rows begin."""
    counts = genesis.bincount(input, minlength=size)
    begins = genesis.cat([counts.new_zeros(1), counts.cumsum(0)])
    return begins.int() if out_int32 else begins


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The places where rows begin as the number of the row of each element."""
    rows = genesis.arange(len(crow_indices) - 1).repeat_interleave(crow_indices.diff())
    pair = [col_indices, rows] if transpose else [rows, col_indices]
    both = genesis.stack([x.long() for x in pair])
    return both.int() if out_int32 else both


def _int_mm(x: Tensor, mat2: Tensor) -> Tensor:
    """The product of int8 matrices, in int32."""
    return x.int() @ mat2.int()


def _check_tensor_all(condition: Tensor, message: Any = None) -> None:
    genesis._check(bool(condition.all()), message)
