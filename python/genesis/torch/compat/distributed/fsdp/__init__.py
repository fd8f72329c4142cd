"""The first version of FSDP: its options are values, the wrapper itself raises."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from genesis.torch.compat._absent import absent_class, absent_function
from genesis.torch.compat.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FlatParameter",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
    "UnshardHandle",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]

_INSTEAD = "use torch.distributed.fsdp.fully_shard(module) instead"
FullyShardedDataParallel = absent_class("distributed.fsdp.FullyShardedDataParallel", _INSTEAD)
FlatParameter = absent_class("distributed.fsdp.FlatParameter", _INSTEAD)
UnshardHandle = absent_class("distributed.fsdp.UnshardHandle", "call module.unshard()")
share_comm_ctx = absent_function("distributed.fsdp.share_comm_ctx", "leave it out")
register_fsdp_forward_method = absent_function(
    "distributed.fsdp.register_fsdp_forward_method", "call the module itself"
)


class OptimStateKeyType(enum.Enum):
    """How the state of an optimizer names parameters."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of `fully_shard`'s computations."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Where `fully_shard` keeps parameters: on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters are kept on the CPU, as all are here."""

    pin_memory: bool = True
