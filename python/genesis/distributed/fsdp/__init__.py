"""Parameters that are divided among the ranks and put together when they are used."""

from genesis._missing import explain
from genesis.distributed.fsdp._fully_shard import FSDPModule, fully_shard

__all__ = ["FSDPModule", "fully_shard"]

explain(globals())
