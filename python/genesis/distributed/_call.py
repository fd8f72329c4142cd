"""What a rank passed to a collective operation: a short record that ranks compare.

The record has a fixed size. It travels in front of the data, and it is what the status of a rank
shows while the rank waits.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from genesis import _C

if TYPE_CHECKING:
    from collections.abc import Sequence

OPERATIONS = (
    "nothing", "barrier", "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter",
    "all_to_all", "gather", "scatter", "send", "recv", "all_gather_object", "broadcast_object_list",
    "new_group", "init_process_group", "destroy_process_group", "batch_isend_irecv", "wait",
)  # fmt: skip
CODES = {name: i for i, name in enumerate(OPERATIONS)}
DTYPES = (
    _C.bool, _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64,
    _C.float16, _C.bfloat16, _C.float32, _C.float64, _C.complex64, _C.complex128,
    _C.uint16, _C.uint32, _C.uint64, _C.float8_e4m3fn, _C.float8_e5m2,
)  # fmt: skip
STORAGE = DTYPES[-5:]  # can be sent, but not added
DTYPE_CODES = {dtype: i for i, dtype in enumerate(DTYPES)}
REDUCTIONS = ("sum", "product", "min", "max", "avg", "band", "bor", "bxor")

_MAX_DIMS = 12
_LAYOUT = struct.Struct(f"<BBbBiq{_MAX_DIMS}q")
SIZE = 128
_cache: dict[tuple[object, ...], bytes] = {}


def record(
    operation: str, dtype: _C.dtype | None, shape: Sequence[int], reduction: int = 0, root: int = -1
) -> bytes:
    """The record of a call. Shapes of more than 12 dimensions are shown by their element count."""
    key = (operation, dtype, shape, reduction, root)
    found = _cache.get(key)
    if found is None:
        code = -1 if dtype is None else DTYPE_CODES[dtype]
        dims = list(shape)
        if len(dims) > _MAX_DIMS:
            count = 1
            for d in dims:
                count *= d
            dims = [count] + [1] * (_MAX_DIMS - 1)
        dims += [0] * (_MAX_DIMS - len(dims))
        packed = _LAYOUT.pack(
            CODES[operation], reduction, code, min(len(shape), _MAX_DIMS), root, 0, *dims
        )
        found = packed.ljust(SIZE, b"\0")
        if len(_cache) > 10_000:  # a program whose shapes never repeat
            _cache.clear()
        _cache[key] = found
    return found


def describe(packed: bytes) -> str:
    """The record in words.

    >>> describe(record("all_reduce", genesis.float32, (2, 3)))
    'all_reduce(sum) of float32 (2, 3)'
    """
    code, reduction, dtype, ndim, root, _, *dims = _LAYOUT.unpack_from(packed)
    if code >= len(OPERATIONS):
        return "an unknown operation"
    name = OPERATIONS[code]
    if name in ("all_reduce", "reduce", "reduce_scatter"):
        name += f"({REDUCTIONS[reduction]})"
    text = name
    if dtype >= 0:
        shape = tuple(dims[:ndim])
        text += f" of {str(DTYPES[dtype]).removeprefix('genesis.')} {shape}"
    if root >= 0:
        who = {"send": "to", "recv": "from", "reduce": "to", "gather": "to"}.get(name, "from")
        text += f" {'to' if name.startswith('reduce') else who} rank {root}"
    return text


def operation_of(packed: bytes) -> str:
    """The name of the operation alone."""
    return OPERATIONS[packed[0]] if packed[0] < len(OPERATIONS) else "?"


class CollectiveError(RuntimeError, ValueError):
    """Ranks of a group passed arguments to a collective operation that do not fit together."""


def mismatch(records: Sequence[bytes], ranks: Sequence[int]) -> CollectiveError:
    """The error that every rank raises: it lists what each rank passed."""
    groups: dict[bytes, list[int]] = {}
    for rank, packed in zip(ranks, records, strict=True):
        groups.setdefault(bytes(packed), []).append(rank)
    parts = [
        f"rank{'s' * (len(who) > 1)} {', '.join(map(str, who))} called {describe(packed)}"
        for packed, who in groups.items()
    ]
    name = operation_of(records[0])
    return CollectiveError(
        f"{name}: the ranks do not agree: {'; '.join(parts)}. Call the same operation with the "
        "same dtype, shape and options on every rank of the group"
    )
