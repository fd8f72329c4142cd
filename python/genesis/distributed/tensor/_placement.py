"""How a tensor is placed on the ranks of one dimension of a mesh."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """Base of `Shard`, `Replicate` and `Partial`."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is divided (along ``dim``)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every rank has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self) -> bool:
        """Whether it is the sum of what the ranks have."""
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along ``dim``.

    >>> Shard(0)
    Shard(dim=0)
    """

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank has the full tensor."""


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the sum of the tensors of the ranks."""

    reduce_op: str = "sum"
