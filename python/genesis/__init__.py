"""Genesis: tensors and automatic differentiation with PyTorch's API, small and fast on a CPU.

Operators, dtypes and grad modes come from the native module. Everything else is imported when it is
first used (`__getattr__` below), so that `import genesis` stays cheap.
"""

from __future__ import annotations

import importlib
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING, Any

from genesis import _C, _tensor
from genesis._C import *  # noqa: F403
from genesis._C import float16, float32, float64, int16, int32, int64
from genesis._missing import MissingName
from genesis._tensor import allclose as allclose  # type: ignore[assignment]
from genesis._version import __version__ as __version__

if TYPE_CHECKING:
    from genesis import amp as amp
    from genesis import autograd as autograd
    from genesis import client as client
    from genesis import config as config
    from genesis import cuda as cuda
    from genesis import debug as debug
    from genesis import distributed as distributed
    from genesis import distributions as distributions
    from genesis import dtypes as dtypes
    from genesis import func as func
    from genesis import function as function
    from genesis import functional as functional
    from genesis import grad_mode as grad_mode
    from genesis import init as init
    from genesis import linalg as linalg
    from genesis import memory as memory
    from genesis import models as models
    from genesis import nn as nn
    from genesis import optim as optim
    from genesis import overrides as overrides
    from genesis import profiler as profiler
    from genesis import random as random
    from genesis import serialization as serialization
    from genesis import signals as signals
    from genesis import special as special
    from genesis import testing as testing
    from genesis import utils as utils
    from genesis._dtype_info import finfo as finfo
    from genesis._dtype_info import iinfo as iinfo
    from genesis._legacy import *  # noqa: F403
    from genesis._legacy import _assert as _assert
    from genesis._printing import get_printoptions as get_printoptions
    from genesis._printing import printoptions as printoptions
    from genesis._printing import set_printoptions as set_printoptions
    from genesis.amp import autocast as autocast
    from genesis.amp import clear_autocast_cache as clear_autocast_cache
    from genesis.amp import get_autocast_dtype as get_autocast_dtype
    from genesis.amp import is_autocast_cache_enabled as is_autocast_cache_enabled
    from genesis.amp import is_autocast_enabled as is_autocast_enabled
    from genesis.amp import set_autocast_cache_enabled as set_autocast_cache_enabled
    from genesis.amp import set_autocast_dtype as set_autocast_dtype
    from genesis.autograd._anomaly import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from genesis.autograd._anomaly import is_anomaly_enabled as is_anomaly_enabled
    from genesis.autograd.function import Function as Function
    from genesis.autograd.tape import Tape as Tape
    from genesis.client import connect as connect
    from genesis.client import gpu_workers as gpu_workers
    from genesis.config import get_config as get_config
    from genesis.config import get_signal_config as get_signal_config
    from genesis.config import load_config as load_config
    from genesis.config import register_config as register_config
    from genesis.dtypes import get_dtype as get_dtype
    from genesis.dtypes import is_integer as is_integer
    from genesis.nn.functional import alpha_dropout as alpha_dropout
    from genesis.nn.functional import bilinear as bilinear
    from genesis.nn.functional import channel_shuffle as channel_shuffle
    from genesis.nn.functional import cosine_similarity as cosine_similarity
    from genesis.nn.functional import feature_alpha_dropout as feature_alpha_dropout
    from genesis.nn.functional import pairwise_distance as pairwise_distance
    from genesis.nn.functional import pixel_shuffle as pixel_shuffle
    from genesis.nn.functional import pixel_unshuffle as pixel_unshuffle
    from genesis.nn.functional import rrelu as rrelu
    from genesis.nn.functional import rrelu_ as rrelu_
    from genesis.random import fork_rng as fork_rng
    from genesis.serialization import load as load
    from genesis.serialization import save as save

_SUBMODULES = (
    "amp",
    "autograd",
    "client",
    "config",
    "cuda",
    "debug",
    "distributions",
    "dtypes",
    "distributed",
    "func",
    "function",
    "functional",
    "grad_mode",
    "init",
    "linalg",
    "memory",
    "models",
    "nn",
    "optim",
    "overrides",
    "profiler",
    "random",
    "serialization",
    "signals",
    "special",
    "testing",
    "utils",
)
_HOME = {
    "Function": "autograd.function",
    "Tape": "autograd.tape",
    "alpha_dropout": "nn.functional",
    "autocast": "amp",
    "bilinear": "nn.functional",
    "channel_shuffle": "nn.functional",
    "clear_autocast_cache": "amp",
    "connect": "client",
    "cosine_similarity": "nn.functional",
    "feature_alpha_dropout": "nn.functional",
    "finfo": "_dtype_info",
    "fork_rng": "random",
    "get_autocast_dtype": "amp",
    "get_config": "config",
    "get_dtype": "dtypes",
    "get_printoptions": "_printing",
    "get_signal_config": "config",
    "gpu_workers": "client",
    "iinfo": "_dtype_info",
    "is_autocast_cache_enabled": "amp",
    "is_autocast_enabled": "amp",
    "is_anomaly_check_nan_enabled": "autograd._anomaly",
    "is_anomaly_enabled": "autograd._anomaly",
    "is_integer": "dtypes",
    "load": "serialization",
    "load_config": "config",
    "pairwise_distance": "nn.functional",
    "pixel_shuffle": "nn.functional",
    "pixel_unshuffle": "nn.functional",
    "printoptions": "_printing",
    "register_config": "config",
    "rrelu": "nn.functional",
    "rrelu_": "nn.functional",
    "save": "serialization",
    "set_autocast_cache_enabled": "amp",
    "set_autocast_dtype": "amp",
    "set_printoptions": "_printing",
}

_LEGACY = [
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
    "cpu",
    "cuda_available",
    "get_default_device",
    "layout",
    "set_default_device",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]
_HOME.update({name: "_legacy" for name in _LEGACY})

__all__ = sorted({
    *(name for name in vars(_C) if not name.startswith("_") and name not in _tensor.NOT_PUBLIC),
    *_SUBMODULES,
    *_HOME,
    "__version__",
    "double",
    "e",
    "enable_autocast",
    "float",
    "half",
    "inf",
    "int",
    "long",
    "nan",
    "newaxis",
    "pi",
    "short",
})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.{name}")
    if name in _HOME or name == "_assert":
        value = getattr(importlib.import_module(f"genesis.{_HOME.get(name, '_legacy')}"), name)
        globals()[name] = value
        return value
    raise MissingName(__name__, name, __all__)


def __dir__() -> list[str]:
    return __all__


newaxis = None  # x[newaxis] adds a dimension

# Assignable: True casts as in an autocast block, in all threads, wherever no block says otherwise.
enable_autocast = False
_C._watch_autocast_flag(globals())

# PyTorch's other names of dtypes. They shadow builtins from here on, so they come last.
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
