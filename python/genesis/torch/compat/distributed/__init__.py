"""Names of ``torch.distributed`` that ``genesis.distributed`` does not have."""

from __future__ import annotations

from typing import Any

from genesis.torch.compat._absent import absent_class

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

Store, FileStore, HashStore, PrefixStore, TCPStore = (
    absent_class(f"distributed.{name}", "ranks find each other by MPI: leave the store out")
    for name in ("Store", "FileStore", "HashStore", "PrefixStore", "TCPStore")
)


def _rank_not_in_group(group: Any) -> bool:
    """Whether this process is no member of a group."""
    from genesis.distributed import GroupMember

    return group is GroupMember.NON_GROUP_MEMBER
