"""Tensors that are divided among ranks."""

from genesis._missing import explain
from genesis.distributed.device_mesh import DeviceMesh, init_device_mesh
from genesis.distributed.tensor._dtensor import DTensor, distribute_module, distribute_tensor
from genesis.distributed.tensor._placement import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "init_device_mesh",
]

explain(globals())
