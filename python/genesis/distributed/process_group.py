"""The original Genesis names for starting, ending and asking."""

from genesis.distributed._collectives import barrier
from genesis.distributed._group import ProcessGroup
from genesis.distributed._reduce import ReduceOp
from genesis.distributed._world import (
    destroy_process_group,
    get_local_rank,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
)

__all__ = [
    "ProcessGroup",
    "ReduceOp",
    "barrier",
    "destroy_process_group",
    "get_local_rank",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_initialized",
]
