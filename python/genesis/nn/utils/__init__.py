"""Utilities for the parameters of modules: gradient clipping, parametrizations, pruning."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from genesis._missing import MissingName
from genesis.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from genesis.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from genesis.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from genesis.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from genesis.nn.utils.weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from genesis.nn.utils import memory_format as memory_format
    from genesis.nn.utils import parametrizations as parametrizations
    from genesis.nn.utils import parametrize as parametrize
    from genesis.nn.utils import prune as prune
    from genesis.nn.utils import rnn as rnn
    from genesis.nn.utils import stateless as stateless
    from genesis.nn.utils.memory_format import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
    )

_SUBMODULES = ("memory_format", "parametrizations", "parametrize", "prune", "rnn", "stateless")

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Any:
    """A new module whose parameters will be overwritten.

    PyTorch leaves them uninitialized; Genesis initializes them as usual.

    >>> skip_init(genesis.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    from genesis.nn import Module

    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise TypeError(f"skip_init: module_cls must be a class of modules, got {module_cls!r}")
    return module_cls(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.nn.utils.{name}")
    if name in __all__:  # what converts convolutions needs their classes, which come later
        return getattr(importlib.import_module("genesis.nn.utils.memory_format"), name)
    raise MissingName(__name__, name)
