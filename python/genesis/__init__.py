"""Genesis: tensors and automatic differentiation with PyTorch's API, small and fast on a CPU.

Operators, dtypes and grad modes come from the native module. Everything else is imported when it is
first used (`__getattr__` below), so that `import genesis` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from genesis import _C, _tensor
from genesis._C import *  # noqa: F403
from genesis._C import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from genesis._tensor import Tensor
from genesis._version import __version__

if TYPE_CHECKING:
    from genesis import autograd, cuda, linalg, memory, nn, optim, random
    from genesis._dtype_info import finfo, iinfo
    from genesis._printing import get_printoptions, printoptions, set_printoptions
    from genesis.random import fork_rng

_SUBMODULES = ("autograd", "cuda", "linalg", "memory", "nn", "optim", "random")
_HOME = {
    "finfo": "_dtype_info",
    "fork_rng": "random",
    "get_printoptions": "_printing",
    "iinfo": "_dtype_info",
    "printoptions": "_printing",
    "set_printoptions": "_printing",
}

__all__ = sorted({  # noqa: PLE0605
    *(name for name in vars(_C) if not name.startswith("_") and name not in _tensor.NOT_PUBLIC),
    *_SUBMODULES,
    *_HOME,
    "__version__",
    "double",
    "float",
    "half",
    "int",
    "long",
    "short",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"genesis.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'genesis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


# PyTorch's other names of dtypes. They shadow builtins from here on, so they come last.
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
