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
from typing import Any

from genesis import _C, _tensor
from genesis._C import *  # noqa: F403
from genesis._C import complex64, complex128, float16, float32, float64, int16, int32, int64
from genesis._lazy import lazy_imports
from genesis._missing import MissingName
from genesis._tensor import allclose as allclose  # type: ignore[assignment]
from genesis._version import __version__ as __version__

# Imported when first used: see __getattr__.
with lazy_imports(globals()) as _HOME:
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
    from genesis._legacy import BFloat16Tensor as BFloat16Tensor
    from genesis._legacy import BoolTensor as BoolTensor
    from genesis._legacy import ByteTensor as ByteTensor
    from genesis._legacy import CharTensor as CharTensor
    from genesis._legacy import DoubleTensor as DoubleTensor
    from genesis._legacy import FloatTensor as FloatTensor
    from genesis._legacy import HalfTensor as HalfTensor
    from genesis._legacy import IntTensor as IntTensor
    from genesis._legacy import LongTensor as LongTensor
    from genesis._legacy import ShortTensor as ShortTensor
    from genesis._legacy import cuda_available as cuda_available
    from genesis._legacy import layout as layout
    from genesis._legacy import sparse_bsc as sparse_bsc
    from genesis._legacy import sparse_bsr as sparse_bsr
    from genesis._legacy import sparse_coo as sparse_coo
    from genesis._legacy import sparse_csc as sparse_csc
    from genesis._legacy import sparse_csr as sparse_csr
    from genesis._legacy import strided as strided
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
    from genesis._second_functional import adaptive_avg_pool1d as adaptive_avg_pool1d
    from genesis._second_functional import adaptive_max_pool1d as adaptive_max_pool1d
    from genesis._second_functional import affine_grid_generator as affine_grid_generator
    from genesis._second_functional import alpha_dropout_ as alpha_dropout_
    from genesis._second_functional import batch_norm as batch_norm
    from genesis._second_functional import (
        binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    )
    from genesis._second_functional import conv_tbc as conv_tbc
    from genesis._second_functional import convolution as convolution
    from genesis._second_functional import cosine_embedding_loss as cosine_embedding_loss
    from genesis._second_functional import ctc_loss as ctc_loss
    from genesis._second_functional import dropout_ as dropout_
    from genesis._second_functional import embedding_bag as embedding_bag
    from genesis._second_functional import embedding_renorm_ as embedding_renorm_
    from genesis._second_functional import feature_alpha_dropout_ as feature_alpha_dropout_
    from genesis._second_functional import feature_dropout as feature_dropout
    from genesis._second_functional import feature_dropout_ as feature_dropout_
    from genesis._second_functional import grid_sampler as grid_sampler
    from genesis._second_functional import grid_sampler_2d as grid_sampler_2d
    from genesis._second_functional import grid_sampler_3d as grid_sampler_3d
    from genesis._second_functional import gru as gru
    from genesis._second_functional import gru_cell as gru_cell
    from genesis._second_functional import hinge_embedding_loss as hinge_embedding_loss
    from genesis._second_functional import instance_norm as instance_norm
    from genesis._second_functional import kl_div as kl_div
    from genesis._second_functional import lstm as lstm
    from genesis._second_functional import lstm_cell as lstm_cell
    from genesis._second_functional import margin_ranking_loss as margin_ranking_loss
    from genesis._second_functional import max_pool1d_with_indices as max_pool1d_with_indices
    from genesis._second_functional import native_batch_norm as native_batch_norm
    from genesis._second_functional import native_channel_shuffle as native_channel_shuffle
    from genesis._second_functional import native_dropout as native_dropout
    from genesis._second_functional import native_group_norm as native_group_norm
    from genesis._second_functional import native_layer_norm as native_layer_norm
    from genesis._second_functional import poisson_nll_loss as poisson_nll_loss
    from genesis._second_functional import rnn_relu as rnn_relu
    from genesis._second_functional import rnn_relu_cell as rnn_relu_cell
    from genesis._second_functional import rnn_tanh as rnn_tanh
    from genesis._second_functional import rnn_tanh_cell as rnn_tanh_cell
    from genesis._second_functional import triplet_margin_loss as triplet_margin_loss
    from genesis._second_names import addmv_ as addmv_
    from genesis._second_names import alias_copy as alias_copy
    from genesis._second_names import as_strided_ as as_strided_
    from genesis._second_names import as_strided_copy as as_strided_copy
    from genesis._second_names import ccol_indices_copy as ccol_indices_copy
    from genesis._second_names import col_indices_copy as col_indices_copy
    from genesis._second_names import cond as cond
    from genesis._second_names import conj_physical_ as conj_physical_
    from genesis._second_names import crow_indices_copy as crow_indices_copy
    from genesis._second_names import detach_ as detach_
    from genesis._second_names import detach_copy as detach_copy
    from genesis._second_names import diagonal_copy as diagonal_copy
    from genesis._second_names import dsmm as dsmm
    from genesis._second_names import empty_permuted as empty_permuted
    from genesis._second_names import expand_copy as expand_copy
    from genesis._second_names import frobenius_norm as frobenius_norm
    from genesis._second_names import from_file as from_file
    from genesis._second_names import gcd_ as gcd_
    from genesis._second_names import hash_tensor as hash_tensor
    from genesis._second_names import hsmm as hsmm
    from genesis._second_names import hspmm as hspmm
    from genesis._second_names import indices_copy as indices_copy
    from genesis._second_names import is_distributed as is_distributed
    from genesis._second_names import is_signed as is_signed
    from genesis._second_names import lcm_ as lcm_
    from genesis._second_names import ldexp_ as ldexp_
    from genesis._second_names import lobpcg as lobpcg
    from genesis._second_names import narrow_copy as narrow_copy
    from genesis._second_names import nuclear_norm as nuclear_norm
    from genesis._second_names import permute_copy as permute_copy
    from genesis._second_names import range as range
    from genesis._second_names import row_indices_copy as row_indices_copy
    from genesis._second_names import saddmm as saddmm
    from genesis._second_names import select_copy as select_copy
    from genesis._second_names import slice_copy as slice_copy
    from genesis._second_names import slice_inverse as slice_inverse
    from genesis._second_names import smm as smm
    from genesis._second_names import split_copy as split_copy
    from genesis._second_names import split_with_sizes_copy as split_with_sizes_copy
    from genesis._second_names import spmm as spmm
    from genesis._second_names import squeeze_copy as squeeze_copy
    from genesis._second_names import sspaddmm as sspaddmm
    from genesis._second_names import t_copy as t_copy
    from genesis._second_names import to_dlpack as to_dlpack
    from genesis._second_names import transpose_copy as transpose_copy
    from genesis._second_names import unbind_copy as unbind_copy
    from genesis._second_names import unfold_copy as unfold_copy
    from genesis._second_names import unsafe_chunk as unsafe_chunk
    from genesis._second_names import unsafe_split as unsafe_split
    from genesis._second_names import unsafe_split_with_sizes as unsafe_split_with_sizes
    from genesis._second_names import unsqueeze_copy as unsqueeze_copy
    from genesis._second_names import values_copy as values_copy
    from genesis._second_names import view_as_complex_copy as view_as_complex_copy
    from genesis._second_names import view_as_real_copy as view_as_real_copy
    from genesis._second_names import view_copy as view_copy
    from genesis._second_names import while_loop as while_loop
    from genesis._second_names import xlogy_ as xlogy_
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
    from genesis.amp import get_autocast_cpu_dtype as get_autocast_cpu_dtype
    from genesis.amp import get_autocast_dtype as get_autocast_dtype
    from genesis.amp import is_autocast_cache_enabled as is_autocast_cache_enabled
    from genesis.amp import is_autocast_cpu_enabled as is_autocast_cpu_enabled
    from genesis.amp import is_autocast_enabled as is_autocast_enabled
    from genesis.amp import set_autocast_cache_enabled as set_autocast_cache_enabled
    from genesis.amp import set_autocast_cpu_dtype as set_autocast_cpu_dtype
    from genesis.amp import set_autocast_cpu_enabled as set_autocast_cpu_enabled
    from genesis.amp import set_autocast_dtype as set_autocast_dtype
    from genesis.amp import set_autocast_enabled as set_autocast_enabled
    from genesis.autograd._anomaly import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from genesis.autograd._anomaly import is_anomaly_enabled as is_anomaly_enabled
    from genesis.autograd._anomaly import set_anomaly_enabled as set_anomaly_enabled
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
    from genesis.storage import BFloat16Storage as BFloat16Storage
    from genesis.storage import BoolStorage as BoolStorage
    from genesis.storage import ByteStorage as ByteStorage
    from genesis.storage import CharStorage as CharStorage
    from genesis.storage import ComplexDoubleStorage as ComplexDoubleStorage
    from genesis.storage import ComplexFloatStorage as ComplexFloatStorage
    from genesis.storage import DoubleStorage as DoubleStorage
    from genesis.storage import FloatStorage as FloatStorage
    from genesis.storage import HalfStorage as HalfStorage
    from genesis.storage import IntStorage as IntStorage
    from genesis.storage import LongStorage as LongStorage
    from genesis.storage import ShortStorage as ShortStorage
    from genesis.storage import TypedStorage as TypedStorage
    from genesis.storage import UntypedStorage as UntypedStorage
    from genesis.training import Trainer as Trainer
    from genesis.training import fit as fit

_SUBMODULES = {name for name, home in _HOME.items() if home == __name__}


__all__ = sorted({
    *(name for name in vars(_C) if not name.startswith("_") and name not in _tensor.NOT_PUBLIC),
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
    if name in _HOME:
        if name in _SUBMODULES:
            return importlib.import_module(f"genesis.{name}")
        value = getattr(importlib.import_module(_HOME[name]), name)
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
_C._watch_autocast_flag(importlib.import_module(__name__))

# PyTorch's other names of dtypes. They shadow builtins from here on, so they come last.
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
