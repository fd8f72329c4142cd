"""What each rank does at this moment, kept where the launcher can read it after the rank has died.

A slot is a few bytes of memory. `genesis run` names a directory in ``GENESIS_RUN_STATUS``; there
the slot of each rank is a mapped file, which survives a SIGKILL. Writing costs no system call.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import Any

from genesis.distributed import _call

VARIABLE = "GENESIS_RUN_STATUS"
RUNNING, WAITING, FAILED, FINISHED, TIMED_OUT = range(5)
_HEAD = struct.Struct("<qqd")
_ENTRY = struct.Struct(f"<qqd{_call.SIZE}s")
_pack, _now = _ENTRY.pack_into, time.time
SIZE = 4096
_NOTE = _ENTRY.size  # a text of the rank itself: the last line of its traceback


current: Status | None = None  # that of this process, once it is known which rank it is


class Status:
    """The slot of this rank: a count of operations, the present one, and since when."""

    def __init__(self, rank: int) -> None:
        directory = os.environ.get(VARIABLE)
        self.memory: Any = bytearray(SIZE)
        self.count = 0
        self.limit: float | None = None  # of the present operation, if its group has its own
        if directory:
            try:
                path = os.path.join(directory, f"rank-{rank}")
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
                os.ftruncate(descriptor, SIZE)
                self.memory = mmap.mmap(descriptor, SIZE)
                os.close(descriptor)
            except OSError:  # a host that does not see the directory: the rank is not listed
                pass
        _HEAD.pack_into(self.memory, 0, RUNNING, 0, time.time())

    def begin(self, record: bytes) -> None:
        """The rank starts to wait for an operation."""
        self.count += 1
        _pack(self.memory, 0, WAITING, self.count, _now(), record)

    def waits_in(self) -> int:
        """The number of the operation that the rank waits in; 0 if it does not wait."""
        return self.count if self.memory[0] == WAITING else 0

    def end(self) -> None:
        """The operation has completed."""
        self.memory[0] = RUNNING

    def note(self, state: int, text: str = "") -> None:
        """The rank fails or finishes."""
        self.memory[0] = state
        raw = text.encode(errors="replace")[: SIZE - _NOTE - 1]
        self.memory[_NOTE : _NOTE + len(raw) + 1] = raw + b"\0"

    def text(self) -> str:
        return describe(bytes(self.memory))


class LimitedStatus:
    """The slot of this rank for a group with its own timeout."""

    def __init__(self, status: Status, seconds: float) -> None:
        self.status = status
        self.seconds = seconds

    def begin(self, record: bytes) -> None:
        self.status.limit = self.seconds
        self.status.begin(record)

    def end(self) -> None:
        self.status.end()
        self.status.limit = None


def describe(memory: bytes) -> str:
    """A slot in words."""
    state, count, since, record = _ENTRY.unpack_from(memory)
    operation = _call.describe(record)
    if state in (WAITING, TIMED_OUT):
        return (
            f"waiting for {max(0.0, time.time() - since):.1f} s in operation {count}, {operation}"
        )
    if state == FINISHED:
        return "finished"
    text = memory[_NOTE:].split(b"\0", 1)[0].decode(errors="replace")
    last = f"its last operation was {count}, {operation}" if count else "no operation yet"
    if state == FAILED:
        return f"failed: {text}; {last}"
    return f"not waiting; {last}"


def _slots(directory: str) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for name in os.listdir(directory):
        if name.startswith("rank-") and name[5:].isdigit():
            with open(os.path.join(directory, name), "rb") as file:
                memory = file.read()
            if len(memory) == SIZE:
                found[int(name[5:])] = memory
    return dict(sorted(found.items()))


def read(directory: str) -> dict[int, str]:
    """The slots of all ranks in words, by rank."""
    return {rank: describe(memory) for rank, memory in _slots(directory).items()}


def any_failed(directory: str) -> bool:
    """Whether a rank reports that the job must end."""
    return any(memory[0] in (FAILED, TIMED_OUT) for memory in _slots(directory).values())
