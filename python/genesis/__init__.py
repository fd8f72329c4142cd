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
from genesis._C import complex64, complex128, float16, float32, float64, int16, int32, int64
from genesis._missing import MissingName
from genesis._tensor import allclose as allclose  # type: ignore[assignment]
from genesis._version import __version__ as __version__

if TYPE_CHECKING:
    from genesis import accelerator as accelerator
    from genesis import amp as amp
    from genesis import ao as ao
    from genesis import autograd as autograd
    from genesis import backends as backends
    from genesis import client as client
    from genesis import compiler as compiler
    from genesis import config as config
    from genesis import cpu as cpu
    from genesis import cuda as cuda
    from genesis import data as data
    from genesis import debug as debug
    from genesis import distributed as distributed
    from genesis import distributions as distributions
    from genesis import dtypes as dtypes
    from genesis import fft as fft
    from genesis import func as func
    from genesis import function as function
    from genesis import functional as functional
    from genesis import futures as futures
    from genesis import fx as fx
    from genesis import grad_mode as grad_mode
    from genesis import hub as hub
    from genesis import init as init
    from genesis import jit as jit
    from genesis import library as library
    from genesis import linalg as linalg
    from genesis import masked as masked
    from genesis import memory as memory
    from genesis import metrics as metrics
    from genesis import models as models
    from genesis import mps as mps
    from genesis import mtia as mtia
    from genesis import multiprocessing as multiprocessing
    from genesis import nn as nn
    from genesis import onnx as onnx
    from genesis import ops as ops
    from genesis import optim as optim
    from genesis import overrides as overrides
    from genesis import profiler as profiler
    from genesis import quasirandom as quasirandom
    from genesis import random as random
    from genesis import report as report
    from genesis import return_types as return_types
    from genesis import serialization as serialization
    from genesis import signal as signal
    from genesis import signals as signals
    from genesis import sparse as sparse
    from genesis import special as special
    from genesis import storage as storage
    from genesis import testing as testing
    from genesis import torch as torch
    from genesis import torch_version as torch_version
    from genesis import training as training
    from genesis import types as types
    from genesis import utils as utils
    from genesis import version as version
    from genesis import xpu as xpu
    from genesis._checks import _assert as _assert
    from genesis._checks import _assert_async as _assert_async
    from genesis._checks import _check as _check
    from genesis._checks import _check_index as _check_index
    from genesis._checks import _check_is_size as _check_is_size
    from genesis._checks import _check_not_implemented as _check_not_implemented
    from genesis._checks import _check_type as _check_type
    from genesis._checks import _check_value as _check_value
    from genesis._checks import _check_with as _check_with
    from genesis._checks import _is_all_true as _is_all_true
    from genesis._dtype_info import finfo as finfo
    from genesis._dtype_info import iinfo as iinfo
    from genesis._legacy import *  # noqa: F403
    from genesis._lowrank import pca_lowrank as pca_lowrank
    from genesis._lowrank import svd_lowrank as svd_lowrank
    from genesis._numeric import gradient as gradient
    from genesis._numeric import histogramdd as histogramdd
    from genesis._numeric import nonzero_static as nonzero_static
    from genesis._numeric import norm_except_dim as norm_except_dim
    from genesis._numeric import segment_reduce as segment_reduce
    from genesis._numeric import unravel_index as unravel_index
    from genesis._printing import get_printoptions as get_printoptions
    from genesis._printing import printoptions as printoptions
    from genesis._printing import set_printoptions as set_printoptions
    from genesis._settings import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    )
    from genesis._settings import get_default_device as get_default_device
    from genesis._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
    from genesis._settings import get_device_module as get_device_module
    from genesis._settings import get_float32_matmul_precision as get_float32_matmul_precision
    from genesis._settings import get_num_interop_threads as get_num_interop_threads
    from genesis._settings import (
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,  # noqa: E501
    )
    from genesis._settings import is_warn_always_enabled as is_warn_always_enabled
    from genesis._settings import set_default_device as set_default_device
    from genesis._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
    from genesis._settings import set_float32_matmul_precision as set_float32_matmul_precision
    from genesis._settings import set_flush_denormal as set_flush_denormal
    from genesis._settings import set_num_interop_threads as set_num_interop_threads
    from genesis._settings import set_warn_always as set_warn_always
    from genesis._settings import use_deterministic_algorithms as use_deterministic_algorithms
    from genesis._spectral import bartlett_window as bartlett_window
    from genesis._spectral import blackman_window as blackman_window
    from genesis._spectral import hamming_window as hamming_window
    from genesis._spectral import hann_window as hann_window
    from genesis._spectral import istft as istft
    from genesis._spectral import kaiser_window as kaiser_window
    from genesis._spectral import stft as stft
    from genesis._symbolic import SymBool as SymBool
    from genesis._symbolic import SymFloat as SymFloat
    from genesis._symbolic import SymInt as SymInt
    from genesis._symbolic import sym_float as sym_float
    from genesis._symbolic import sym_int as sym_int
    from genesis._symbolic import sym_ite as sym_ite
    from genesis._symbolic import sym_max as sym_max
    from genesis._symbolic import sym_min as sym_min
    from genesis._symbolic import sym_not as sym_not
    from genesis._symbolic import sym_sqrt as sym_sqrt
    from genesis._symbolic import sym_sum as sym_sum
    from genesis.amp import GradScaler as GradScaler
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
    from genesis.compiler import compile as compile
    from genesis.config import get_config as get_config
    from genesis.config import get_signal_config as get_signal_config
    from genesis.config import load_config as load_config
    from genesis.config import register_config as register_config
    from genesis.cuda import Event as Event
    from genesis.cuda import OutOfMemoryError as OutOfMemoryError
    from genesis.cuda import Stream as Stream
    from genesis.dtypes import get_dtype as get_dtype
    from genesis.dtypes import is_integer as is_integer
    from genesis.func import vmap as vmap
    from genesis.functional import is_storage as is_storage
    from genesis.functional import typename as typename
    from genesis.futures import Future as Future
    from genesis.jit import ScriptModule as ScriptModule
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
    from genesis.serialization.records import PyTorchFileReader as PyTorchFileReader
    from genesis.sparse import sparse_bsc_tensor as sparse_bsc_tensor
    from genesis.sparse import sparse_bsr_tensor as sparse_bsr_tensor
    from genesis.sparse import sparse_compressed_tensor as sparse_compressed_tensor
    from genesis.sparse import sparse_coo_tensor as sparse_coo_tensor
    from genesis.sparse import sparse_csc_tensor as sparse_csc_tensor
    from genesis.sparse import sparse_csr_tensor as sparse_csr_tensor
    from genesis.storage import TypedStorage as TypedStorage
    from genesis.storage import UntypedStorage as UntypedStorage
    from genesis.training import Trainer as Trainer
    from genesis.training import fit as fit

_SUBMODULES = {
    "accelerator",
    "amp",
    "ao",
    "autograd",
    "backends",
    "client",
    "compiler",
    "config",
    "cpu",
    "cuda",
    "data",
    "debug",
    "distributed",
    "distributions",
    "dtypes",
    "fft",
    "func",
    "function",
    "functional",
    "futures",
    "fx",
    "grad_mode",
    "hub",
    "init",
    "jit",
    "library",
    "linalg",
    "masked",
    "memory",
    "metrics",
    "models",
    "mps",
    "mtia",
    "multiprocessing",
    "nn",
    "onnx",
    "ops",
    "optim",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "report",
    "return_types",
    "serialization",
    "signal",
    "signals",
    "sparse",
    "special",
    "storage",
    "testing",
    "torch",
    "torch_version",
    "training",
    "types",
    "utils",
    "version",
    "xpu",
}
_HOME = {
    "BFloat16Storage": "storage",
    "BoolStorage": "storage",
    "ByteStorage": "storage",
    "CharStorage": "storage",
    "ComplexDoubleStorage": "storage",
    "ComplexFloatStorage": "storage",
    "DoubleStorage": "storage",
    "Event": "cuda",
    "FloatStorage": "storage",
    "Function": "autograd.function",
    "Future": "futures",
    "GradScaler": "amp",
    "HalfStorage": "storage",
    "IntStorage": "storage",
    "LongStorage": "storage",
    "OutOfMemoryError": "cuda",
    "PyTorchFileReader": "serialization.records",
    "ScriptModule": "jit",
    "ShortStorage": "storage",
    "Stream": "cuda",
    "SymBool": "_symbolic",
    "SymFloat": "_symbolic",
    "SymInt": "_symbolic",
    "Tape": "autograd.tape",
    "Trainer": "training",
    "TypedStorage": "storage",
    "UntypedStorage": "storage",
    "_assert": "_checks",
    "_assert_async": "_checks",
    "_check": "_checks",
    "_check_index": "_checks",
    "_check_is_size": "_checks",
    "_check_not_implemented": "_checks",
    "_check_type": "_checks",
    "_check_value": "_checks",
    "_check_with": "_checks",
    "_is_all_true": "_checks",
    "alpha_dropout": "nn.functional",
    "are_deterministic_algorithms_enabled": "_settings",
    "autocast": "amp",
    "bartlett_window": "_spectral",
    "bilinear": "nn.functional",
    "blackman_window": "_spectral",
    "channel_shuffle": "nn.functional",
    "clear_autocast_cache": "amp",
    "compile": "compiler",
    "connect": "client",
    "cosine_similarity": "nn.functional",
    "feature_alpha_dropout": "nn.functional",
    "finfo": "_dtype_info",
    "fit": "training",
    "fork_rng": "random",
    "get_autocast_dtype": "amp",
    "get_config": "config",
    "get_default_device": "_settings",
    "get_deterministic_debug_mode": "_settings",
    "get_device_module": "_settings",
    "get_dtype": "dtypes",
    "get_float32_matmul_precision": "_settings",
    "get_num_interop_threads": "_settings",
    "get_printoptions": "_printing",
    "get_signal_config": "config",
    "gpu_workers": "client",
    "gradient": "_numeric",
    "hamming_window": "_spectral",
    "hann_window": "_spectral",
    "histogramdd": "_numeric",
    "iinfo": "_dtype_info",
    "is_anomaly_check_nan_enabled": "autograd._anomaly",
    "is_anomaly_enabled": "autograd._anomaly",
    "is_autocast_cache_enabled": "amp",
    "is_autocast_enabled": "amp",
    "is_deterministic_algorithms_warn_only_enabled": "_settings",
    "is_integer": "dtypes",
    "is_storage": "functional",
    "is_warn_always_enabled": "_settings",
    "istft": "_spectral",
    "kaiser_window": "_spectral",
    "load": "serialization",
    "load_config": "config",
    "nonzero_static": "_numeric",
    "norm_except_dim": "_numeric",
    "pairwise_distance": "nn.functional",
    "pca_lowrank": "_lowrank",
    "pixel_shuffle": "nn.functional",
    "pixel_unshuffle": "nn.functional",
    "printoptions": "_printing",
    "register_config": "config",
    "rrelu": "nn.functional",
    "rrelu_": "nn.functional",
    "save": "serialization",
    "segment_reduce": "_numeric",
    "set_autocast_cache_enabled": "amp",
    "set_autocast_dtype": "amp",
    "set_default_device": "_settings",
    "set_deterministic_debug_mode": "_settings",
    "set_float32_matmul_precision": "_settings",
    "set_flush_denormal": "_settings",
    "set_num_interop_threads": "_settings",
    "set_printoptions": "_printing",
    "set_warn_always": "_settings",
    "sparse_bsc_tensor": "sparse",
    "sparse_bsr_tensor": "sparse",
    "sparse_compressed_tensor": "sparse",
    "sparse_coo_tensor": "sparse",
    "sparse_csc_tensor": "sparse",
    "sparse_csr_tensor": "sparse",
    "stft": "_spectral",
    "svd_lowrank": "_lowrank",
    "sym_float": "_symbolic",
    "sym_int": "_symbolic",
    "sym_ite": "_symbolic",
    "sym_max": "_symbolic",
    "sym_min": "_symbolic",
    "sym_not": "_symbolic",
    "sym_sqrt": "_symbolic",
    "sym_sum": "_symbolic",
    "typename": "functional",
    "unravel_index": "_numeric",
    "use_deterministic_algorithms": "_settings",
    "vmap": "func",
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
    "cuda_available",
    "layout",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]
_HOME.update({name: "_legacy" for name in _LEGACY})
_SECOND_NAMES = """
adaptive_avg_pool1d adaptive_max_pool1d addmv_ affine_grid_generator alias_copy alpha_dropout_
as_strided_ as_strided_copy batch_norm binary_cross_entropy_with_logits ccol_indices_copy
col_indices_copy cond conv_tbc convolution cosine_embedding_loss crow_indices_copy ctc_loss
detach_ detach_copy diagonal_copy dropout_ dsmm embedding_bag embedding_renorm_ empty_permuted
expand_copy feature_alpha_dropout_ feature_dropout feature_dropout_ frobenius_norm from_file gcd_
grid_sampler grid_sampler_2d grid_sampler_3d gru gru_cell hinge_embedding_loss hsmm hspmm
indices_copy instance_norm is_distributed is_signed kl_div lcm_ ldexp_ lobpcg lstm lstm_cell
margin_ranking_loss max_pool1d_with_indices narrow_copy native_batch_norm native_channel_shuffle
native_dropout native_group_norm native_layer_norm nuclear_norm permute_copy poisson_nll_loss
range rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell row_indices_copy saddmm select_copy slice_copy
smm split_copy split_with_sizes_copy spmm squeeze_copy sspaddmm t_copy to_dlpack transpose_copy
triplet_margin_loss unbind_copy unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes
unsqueeze_copy values_copy view_copy while_loop xlogy_
""".split()  # noqa: SIM905
_HOME.update({name: "_second_names" for name in _SECOND_NAMES})

__all__ = sorted({
    *(name for name in vars(_C) if not name.startswith("_") and name not in _tensor.NOT_PUBLIC),
    *_SUBMODULES,
    *(name for name in _HOME if not name.startswith("_") and name != "range"),
    "__version__",
    "cdouble",
    "cfloat",
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
    if name in _HOME:
        value = getattr(importlib.import_module(f"genesis.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name[0] == "_" and name.startswith("_foreach_"):
        from genesis import _foreach

        value = getattr(_foreach, name)
        globals()[name] = value
        return value
    raise MissingName(__name__, name)


def __dir__() -> list[str]:
    return __all__


newaxis = None  # x[newaxis] adds a dimension

# Assignable: True casts as in an autocast block, in all threads, wherever no block says otherwise.
enable_autocast = False
_C._watch_autocast_flag(globals())

# PyTorch's other names of dtypes. They shadow builtins from here on, so they come last.
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
