"""Training on several processes over MPI, with the names of ``torch.distributed``.

``genesis run -n 4 script.py`` starts the ranks. Nothing here imports mpi4py before
`init_process_group` is called in a process that a launcher started.
"""

import importlib
from typing import TYPE_CHECKING, Any

from genesis._missing import MissingName
from genesis.distributed._call import CollectiveError
from genesis.distributed._collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from genesis.distributed._group import ProcessGroup
from genesis.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    scatter_object_list,
)
from genesis.distributed._p2p import P2POp, batch_isend_irecv, irecv, isend, recv, send
from genesis.distributed._reduce import ReduceOp
from genesis.distributed._work import Work
from genesis.distributed._world import (
    Backend,
    GroupMember,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_local_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    new_group,
)

if TYPE_CHECKING:
    from genesis.distributed import (
        algorithms,
        checkpoint,
        device_mesh,
        fsdp,
        nn,
        optim,
        parallel,
        process_group,
        tensor,
    )
    from genesis.distributed._ddp import DistributedDataParallel
    from genesis.distributed.device_mesh import DeviceMesh, init_device_mesh

    DDP = DistributedDataParallel

__all__ = [
    "DDP",
    "Backend",
    "CollectiveError",
    "DeviceMesh",
    "DistributedDataParallel",
    "GroupMember",
    "P2POp",
    "ProcessGroup",
    "ReduceOp",
    "Work",
    "algorithms",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "checkpoint",
    "default_pg_timeout",
    "destroy_process_group",
    "device_mesh",
    "fsdp",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_local_rank",
    "get_node_local_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "isend",
    "monitored_barrier",
    "new_group",
    "nn",
    "optim",
    "parallel",
    "process_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
    "send",
    "tensor",
]

# What needs modules and optimizers is imported when it is first used.
_SUBMODULES = (
    "algorithms",
    "checkpoint",
    "device_mesh",
    "fsdp",
    "nn",
    "optim",
    "parallel",
    "process_group",
    "tensor",
)
_HOME = {
    "DDP": "_ddp",
    "DeviceMesh": "device_mesh",
    "DistributedDataParallel": "_ddp",
    "init_device_mesh": "device_mesh",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME:
        home = importlib.import_module(f"{__name__}.{_HOME[name]}")
        return getattr(home, "DistributedDataParallel" if name == "DDP" else name)
    raise MissingName(__name__, name)
