"""Calls of functions in other processes: not there."""

from __future__ import annotations

from genesis.torch.compat._absent import absent_class, absent_function

__all__ = ["is_available"]

_INSTEAD = "processes exchange tensors by the collectives of torch.distributed"
RRef, BackendType, TensorPipeRpcBackendOptions, WorkerInfo = (
    absent_class(f"distributed.rpc.{name}", _INSTEAD)
    for name in ("RRef", "BackendType", "TensorPipeRpcBackendOptions", "WorkerInfo")
)
init_rpc, rpc_async, rpc_sync, remote, shutdown, get_worker_info = (
    absent_function(f"distributed.rpc.{name}", _INSTEAD)
    for name in ("init_rpc", "rpc_async", "rpc_sync", "remote", "shutdown", "get_worker_info")
)


def is_available() -> bool:
    """Whether functions of other processes can be called: no."""
    return False


def _is_current_rpc_agent_set() -> bool:
    return False
