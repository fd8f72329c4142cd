"""Ranks in a grid: each dimension of it divides something else."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from genesis._missing import explain
from genesis.distributed import _world
from genesis.distributed._group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks of the job in a grid. Ranks that differ in one coordinate only form a group."""

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> None:
        self.device_type = device_type
        rows = mesh.tolist() if hasattr(mesh, "tolist") else mesh
        self.shape, self.ranks = _flatten(rows)
        world = _world.default_group("DeviceMesh")
        if sorted(set(self.ranks)) != sorted(self.ranks) or not all(
            0 <= r < world.size() for r in self.ranks
        ):
            raise ValueError(
                f"DeviceMesh: the ranks must be different ones of 0..{world.size() - 1}, got "
                f"{self.ranks}"
            )
        if mesh_dim_names is not None and len(mesh_dim_names) != len(self.shape):
            raise ValueError(
                f"DeviceMesh: {len(mesh_dim_names)} names for a mesh of shape {self.shape}"
            )
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._groups: list[Any] = [self._make_group(d) for d in range(len(self.shape))]

    def _make_group(self, dim: int) -> Any:
        """The group of this rank along a dimension; all ranks make all groups in one order."""
        mine: Any = _world.GroupMember.NON_GROUP_MEMBER
        others = [range(n) for d, n in enumerate(self.shape) if d != dim]
        for rest in itertools.product(*others):
            ranks = []
            for i in range(self.shape[dim]):
                place = [*rest[:dim], i, *rest[dim:]]
                ranks.append(self.ranks[_position(place, self.shape)])
            group = _world.new_group(ranks)
            if isinstance(group, ProcessGroup):
                mine = group
        return mine

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, of the whole mesh or along a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _dim(self, which: int | str | None) -> int:
        if which is None:
            if self.ndim != 1:
                raise ValueError(f"DeviceMesh: a mesh of shape {self.shape}: say which dimension")
            return 0
        if isinstance(which, str):
            if which not in (self.mesh_dim_names or ()):
                raise KeyError(f"DeviceMesh: no dimension {which!r} among {self.mesh_dim_names}")
            assert self.mesh_dim_names is not None
            return self.mesh_dim_names.index(which)
        return which

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of this rank along a dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The groups of this rank, one for each dimension."""
        return list(self._groups)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The coordinate of this rank along a dimension."""
        return _world.get_rank(self.get_group(mesh_dim))

    def get_rank(self) -> int:
        """The rank of this process in the job."""
        return _world.get_rank()

    def get_coordinate(self) -> list[int] | None:
        """The coordinates of this rank; None if it is not in the mesh."""
        if _world.get_rank() not in self.ranks:
            return None
        return [self.get_local_rank(d) for d in range(self.ndim)]

    def __getitem__(self, name: str) -> DeviceMesh:
        """The part of the mesh along a dimension, with this rank in it."""
        dim = self._dim(name)
        part = DeviceMesh.__new__(DeviceMesh)
        part.device_type = self.device_type
        part._groups = [self._groups[dim]]
        part.ranks = _world.get_process_group_ranks(self._groups[dim])
        part.shape = (len(part.ranks),)
        part.mesh_dim_names = (name,)
        return part

    def __repr__(self) -> str:
        return (
            f"DeviceMesh({self.device_type!r}, {self.shape}, mesh_dim_names={self.mesh_dim_names})"
        )


def _flatten(rows: Any) -> tuple[tuple[int, ...], list[int]]:
    if not isinstance(rows, (list, tuple)):
        return (), [int(rows)]
    if not rows:
        raise ValueError("DeviceMesh: the mesh is empty")
    parts = [_flatten(r) for r in rows]
    if len({shape for shape, _ in parts}) > 1:
        raise ValueError("DeviceMesh: the rows of the mesh have different lengths")
    return (len(rows), *parts[0][0]), [r for _, ranks in parts for r in ranks]


def _position(place: Sequence[int], shape: Sequence[int]) -> int:
    found = 0
    for i, n in zip(place, shape, strict=True):
        found = found * n + i
    return found


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None
) -> DeviceMesh:
    """A mesh of all ranks of the job, which it starts if need be.

    >>> mesh = init_device_mesh("cpu", (1,), mesh_dim_names=("tp",))
    >>> mesh.size(), mesh.get_local_rank("tp")
    (1, 0)
    >>> genesis.distributed.destroy_process_group()
    """
    if not _world.is_initialized():
        _world.init_process_group()
    shape = tuple(int(n) for n in mesh_shape)
    count = math.prod(shape)
    if count != _world.get_world_size():
        raise ValueError(
            f"init_device_mesh: a mesh of shape {shape} has {count} places, but there are "
            f"{_world.get_world_size()} ranks"
        )
    rows: Any = list(range(count))
    for n in reversed(shape[1:]):
        rows = [rows[i : i + n] for i in range(0, len(rows), n)]
    return DeviceMesh(device_type, rows, mesh_dim_names=mesh_dim_names)


explain(globals())
