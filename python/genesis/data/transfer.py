"""Messages between processes, in which the memory of tensors and arrays is not pickled.

Pickle's protocol 5 hands out that memory apart from the rest. A large message is written to a file
that exists in memory only and has no name: its descriptor is passed on, and the receiver maps it,
so tensors arrive without another copy, and whatever dies, nothing is left behind. Small messages
go through the pipe. What is in the pipe stays small, so that no side waits for room in it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import struct
import tempfile
import weakref
from multiprocessing.connection import Connection
from typing import Any

ALIGN = 64
MAX_MAPS = 200  # each map keeps a descriptor open, of which a process has about a thousand
_HAS_MEMFD = hasattr(os, "memfd_create")
_maps = 0


def send(connection: Connection, message: Any, limit: int) -> None:
    """Send a message; if it is larger than ``limit`` bytes, through shared memory."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = struct.pack(f"<{len(parts) + 1}q", len(parts), *(part.nbytes for part in parts))
    pieces: list[Any] = []
    for part in parts:
        pieces += [part, bytes(-part.nbytes % ALIGN)]
    total = sum(len(piece) for piece in pieces)
    if total + len(sizes) <= limit:
        connection.send_bytes(b"".join([b"\0", sizes, *pieces]))
        return
    file = _Segment()
    try:
        _write_all(file.descriptor, pieces)
        path = file.path.encode()
        connection.send_bytes(b"".join([b"\1", struct.pack("<qq", total, len(path)), path, sizes]))
        if not path:
            with _socket(connection) as stream:
                socket.send_fds(stream, [b"\0"], [file.descriptor])
    finally:
        os.close(file.descriptor)


def _socket(connection: Connection) -> socket.socket:
    """The socket of a connection, to pass descriptors. Those of multiprocessing.reduction wait for
    an acknowledgement (from Python 3.14 on), and take for it what else is in the pipe."""
    return socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)


class _Segment:
    """A file in memory; where the system has none without a name, a temporary one."""

    def __init__(self) -> None:
        if _HAS_MEMFD:
            self.descriptor = os.memfd_create("genesis-batch", os.MFD_CLOEXEC)
            self.path = ""
        else:
            self.descriptor, self.path = tempfile.mkstemp(prefix="genesis-batch-")


def _write_all(descriptor: int, pieces: list[Any]) -> None:
    left = [memoryview(piece) for piece in pieces if len(piece)]
    while left:
        written = os.writev(descriptor, left[:512])
        while left and written >= left[0].nbytes:
            written -= left.pop(0).nbytes
        if written:
            left[0] = left[0][written:]


def receive(connection: Connection) -> Any:
    """The next message."""
    data = connection.recv_bytes()
    place = 1
    memory: Any
    if data[0]:
        total, path_size = struct.unpack_from("<qq", data, place)
        place += 16 + path_size
        memory = _open(connection, data[17:place].decode(), total)
    (count,) = struct.unpack_from("<q", data, place)
    sizes = struct.unpack_from(f"<{count}q", data, place + 8)
    place += 8 + 8 * count
    if not data[0]:
        memory = bytearray(data[place:])  # tensors must be able to write to it
    view = memoryview(memory)
    parts = []
    start = 0
    for size in sizes:
        parts.append(view[start : start + size])
        start += size + -size % ALIGN
    return pickle.loads(parts[0], buffers=parts[1:])


def _open(connection: Connection, path: str, total: int) -> Any:
    global _maps
    if path:
        descriptor = os.open(path, os.O_RDWR)
        os.unlink(path)
    else:
        with _socket(connection) as stream:
            _, descriptors, *_ = socket.recv_fds(stream, 1, 1)
        if not descriptors:
            raise EOFError
        descriptor = descriptors[0]
    try:
        if _maps >= MAX_MAPS:
            memory = bytearray(total)
            view = memoryview(memory)
            done = 0
            while done < total:
                done += os.preadv(descriptor, [view[done:]], done)
            return memory
        populate = getattr(mmap, "MAP_POPULATE", 0)
        mapped = mmap.mmap(descriptor, total, flags=mmap.MAP_SHARED | populate)
    finally:
        os.close(descriptor)
    _maps += 1
    weakref.finalize(mapped, _unmapped).atexit = False
    return mapped


def _unmapped() -> None:
    global _maps
    _maps -= 1
