"""Tensors whose memory overlaps are written once, and share memory again when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.serialization.safetensors import CODES, Entry


@dataclass
class Extent:
    """The bytes from the first element of a tensor to its last."""

    number: int
    name: str
    tensor: Tensor
    low: int
    high: int


def overlapping(tensors: list[tuple[str, Tensor]]) -> tuple[list[Entry], list[Any]]:
    """Entries to be written, and for each tensor the row with the location of its values.

    Parts of one storage that do not overlap are written apart: nobody could tell the difference.
    """
    extents = [_extent(i, name, x.detach()) for i, (name, x) in enumerate(tensors)]
    entries: dict[int, Entry] = {}
    rows: dict[int, Any] = {}
    for group in _groups(extents):
        _write_group(group, entries, rows)
    for i, (_, x) in enumerate(tensors):
        flags = {}
        if x._is_parameter():
            flags["parameter"] = True
        if x.requires_grad:
            flags["requires_grad"] = True
        if flags:
            row = rows[i]
            rows[i] = {**({"entry": row} if isinstance(row, str) else row), **flags}
    return [entries[i] for i in sorted(entries)], [rows[i] for i in range(len(tensors))]


def _extent(number: int, name: str, x: Tensor) -> Extent:
    low = x.data_ptr()
    steps = sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))
    return Extent(number, name, x, low, low + (steps + 1) * x.dtype.itemsize if x.numel() else low)


def _groups(extents: list[Extent]) -> list[list[Extent]]:
    groups: list[list[Extent]] = []
    end = 0
    for extent in sorted(extents, key=lambda e: (e.low, -e.high)):
        joins = groups and extent.low < end and extent.high > extent.low
        if joins and _C._shares_storage(groups[-1][0].tensor, extent.tensor):
            groups[-1].append(extent)
        else:
            groups.append([extent])
        end = max(end, extent.high) if joins else extent.high
    return groups


def _write_group(group: list[Extent], entries: dict[int, Entry], rows: dict[int, Any]) -> None:
    low, high = min(e.low for e in group), max(e.high for e in group)
    if len(group) == 1:
        only = group[0]
        entries[only.number] = Entry.of(only.name, only.tensor)
        rows[only.number] = only.name
        return
    whole = _whole(group, low, high)
    if whole is not None:
        memory = whole.tensor
    else:
        whole = min(group, key=lambda e: e.number)
        memory, low = _memory(group, low, high)
    entries[whole.number] = Entry.of(whole.name, memory)
    for e in group:
        x = e.tensor
        same = x.is_contiguous() and x.shape == memory.shape and x.dtype == memory.dtype
        if same:
            rows[e.number] = e.name if e is whole else {"entry": whole.name}
        else:
            rows[e.number] = {
                "entry": whole.name,
                "dtype": CODES[x.dtype],
                "shape": list(x.shape),
                "stride": list(x.stride()),
                "offset": (e.low - low) // x.dtype.itemsize,
            }


def _whole(group: list[Extent], low: int, high: int) -> Extent | None:
    """The tensor that all others are parts of: of tied weights the first, of x and x[2:4] x."""
    widest = max(e.tensor.dtype.itemsize for e in group)
    fits = [
        e
        for e in group
        if (e.low, e.high) == (low, high)
        and e.tensor.is_contiguous()
        and e.tensor.dtype.itemsize == widest
    ]
    return min(fits, key=lambda e: e.number, default=None)


def _memory(group: list[Extent], low: int, high: int) -> tuple[Tensor, int]:
    """The memory of a group as one flat tensor, and the address where it begins."""
    first = min(group, key=lambda e: e.low).tensor
    if all(e.tensor.dtype == first.dtype for e in group):
        count = (high - low) // first.dtype.itemsize
        return first.as_strided((count,), (1,), first.storage_offset()), low
    low -= low % 8  # so that elements of every dtype begin at a multiple of their size
    flat = _C.zeros((high - low + -(high - low) % 8,), dtype=_C.uint8)
    for e in group:
        x = e.tensor
        count = (e.high - e.low) // x.dtype.itemsize
        piece = x.as_strided((count,), (1,), x.storage_offset()).view(dtype=_C.uint8)
        flat[e.low - low : e.high - low] = piece
    return flat, low
