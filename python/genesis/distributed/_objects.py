"""Collective operations on Python objects. They are pickled: only for ranks of one job."""

from __future__ import annotations

import pickle
from typing import Any

from genesis import _C
from genesis.distributed import _call
from genesis.distributed._collectives import _checked, _root, _run
from genesis.distributed._group import ProcessGroup
from genesis.distributed._work import Steps
from genesis.distributed._world import member


def _all_bytes(group: ProcessGroup, data: bytes, record: bytes) -> list[bytes]:
    found: list[bytes] = []
    _run(group, record, group.all_gather_bytes(data, found, record), False)
    return found


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all ranks, in ``object_list``."""
    found = member(group, "all_gather_object")
    if found is None:
        return

    def check() -> bytes:
        if len(object_list) != found.size():
            raise ValueError(
                f"all_gather_object: object_list has {len(object_list)} places, the group "
                f"{found.size()} ranks"
            )
        return pickle.dumps(obj)

    data = _checked(found, check)
    everything = _all_bytes(found, data, _call.record("all_gather_object", None, ()))
    object_list[:] = [pickle.loads(part) for part in everything]


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """The objects of all ranks, in ``object_gather_list`` of the rank ``dst``."""
    found = member(group, "gather_object")
    if found is None:
        return

    def check() -> tuple[int, bytes]:
        root = _root("gather_object", found, dst, group_dst, "dst")
        if found.rank() == root and (
            object_gather_list is None or len(object_gather_list) != found.size()
        ):
            raise ValueError(
                f"gather_object: object_gather_list on dst must be a list of {found.size()}"
            )
        return root, pickle.dumps(obj)

    root, data = _checked(found, check)
    everything = _all_bytes(found, data, _call.record("all_gather_object", None, (), root=root))
    if found.rank() == root:
        assert object_gather_list is not None
        object_gather_list[:] = [pickle.loads(part) for part in everything]


def _broadcast_bytes(group: ProcessGroup, data: bytes, root: int, record: bytes) -> bytes:
    """The bytes of the rank ``root``."""
    length = _C.tensor([len(data)], dtype=_C.int64)
    out: list[bytes] = []

    def steps() -> Steps:
        yield from group.agree(record)
        yield from group.broadcast(length, root, record, False, group.later)
        if group.rank() == root:
            body = _C.tensor(list(data), dtype=_C.uint8) if len(data) < 64 else _own(data)
        else:
            body = _C.empty(int(length.item()), dtype=_C.uint8)
        if body.numel():
            yield from group.broadcast(body, root, record, False, group.later)
        out.append(bytes(memoryview(body)) if body.numel() else b"")

    _run(group, record, steps(), False)
    return out[0]


def _own(data: bytes) -> Any:
    return _C.frombuffer(bytearray(data), dtype=_C.uint8)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give all ranks the objects in the list of the rank ``src``, in ``object_list``."""
    found = member(group, "broadcast_object_list")
    if found is None:
        return

    def check() -> tuple[int, bytes]:
        root = _root("broadcast_object_list", found, src, group_src, "src")
        return root, pickle.dumps(list(object_list)) if found.rank() == root else b""

    root, data = _checked(found, check)
    record = _call.record("broadcast_object_list", None, (len(object_list),), root=root)
    received = _broadcast_bytes(found, data, root, record)
    if found.rank() != root:
        object_list[:] = pickle.loads(received)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Rank i gets number i of the list of the rank ``src``, as the first of its output list."""
    found = member(group, "scatter_object_list")
    if found is None:
        return

    def check() -> tuple[int, bytes]:
        root = _root("scatter_object_list", found, src, group_src, "src")
        if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
            raise ValueError(
                "scatter_object_list: scatter_object_output_list must be a list with a place"
            )
        if found.rank() != root:
            return root, b""
        given = scatter_object_input_list
        if given is None or len(given) != found.size():
            raise ValueError(f"scatter_object_list: src must pass a list of {found.size()} objects")
        return root, pickle.dumps([pickle.dumps(x) for x in given])

    root, data = _checked(found, check)
    record = _call.record("broadcast_object_list", None, (), root=root)
    parts = pickle.loads(_broadcast_bytes(found, data, root, record))
    scatter_object_output_list[0] = pickle.loads(parts[found.rank()])
