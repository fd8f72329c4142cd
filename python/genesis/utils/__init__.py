"""Utilities: data loading, activation checkpointing, and checkpoints of training runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from genesis._missing import MissingName

if TYPE_CHECKING:
    from genesis.utils import _pytree as _pytree
    from genesis.utils import checkpoint as checkpoint
    from genesis.utils import cpp_extension as cpp_extension
    from genesis.utils import data as data
    from genesis.utils import dlpack as dlpack
    from genesis.utils import flop_counter as flop_counter
    from genesis.utils import hooks as hooks
    from genesis.utils import model_zoo as model_zoo
    from genesis.utils import profile as profile
    from genesis.utils import random_state as random_state
    from genesis.utils import tensorboard as tensorboard
    from genesis.utils import training as training

_SUBMODULES = (
    "_pytree",
    "checkpoint",
    "cpp_extension",
    "data",
    "dlpack",
    "flop_counter",
    "hooks",
    "model_zoo",
    "profile",
    "random_state",
    "tensorboard",
    "training",
)

__all__ = [*_SUBMODULES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.utils.{name}")
    raise MissingName(__name__, name)


def __dir__() -> list[str]:
    return __all__
