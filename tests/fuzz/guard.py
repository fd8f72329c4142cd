"""Arrays that end, or begin, at a page that may not be touched: one byte too far is SIGSEGV."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

_PAGE = mmap.PAGESIZE
_BYTES = 16 * _PAGE  # of one region
_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Region:
    """Readable and writable memory between two forbidden pages."""

    def __init__(self) -> None:
        memory = mmap.mmap(-1, _BYTES + 2 * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for page in (start, start + _PAGE + _BYTES):
            if _mprotect(page, _PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        whole = np.frombuffer(memory, np.uint8)
        self.bytes = whole[_PAGE : _PAGE + _BYTES]

    def array(self, dtype: np.dtype, size: int, at_end: bool) -> np.ndarray:
        count = dtype.itemsize * size
        part = self.bytes[_BYTES - count :] if at_end else self.bytes[:count]
        return part.view(dtype)


class Regions:
    """Regions to be used one after the other, and all again in the next case."""

    def __init__(self) -> None:
        self.all: list[Region] = []
        self.used = 0

    def restart(self) -> None:
        self.used = 0

    def array(self, dtype: np.dtype, size: int, at_end: bool) -> np.ndarray:
        """Of memory that is zero or was used before; larger arrays are plain ones."""
        if dtype.itemsize * size > _BYTES:
            return np.zeros(size, dtype)
        if self.used == len(self.all):
            self.all.append(Region())
        self.used += 1
        return self.all[self.used - 1].array(dtype, size, at_end)
