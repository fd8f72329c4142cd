"""The source of the bytes: a file, a memory map of it, or an object with read().

Every read is checked against the size first, so that a damaged length in a file can neither reach
outside it nor ask for more memory than the file holds.
"""

from __future__ import annotations

import io
import mmap
import os
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis.serialization.errors import FileFormatError

if TYPE_CHECKING:
    from typing_extensions import Self

PathLike = str | os.PathLike[str]


class Source:
    """Bytes from where ``file`` stands to its end."""

    def __init__(self, file: PathLike | IO[bytes], mapped: bool = False) -> None:
        self.is_path = isinstance(file, (str, os.PathLike))
        self.map: mmap.mmap | None = None
        self.file: IO[bytes]
        if isinstance(file, (str, os.PathLike)):
            self.name = os.fspath(file)
            self.file = open(file, "rb")  # noqa: SIM115 - closed by __exit__
            self.base = 0
        elif mapped:
            raise ValueError("load: mmap=True needs a path, got an open file; pass its name")
        elif not hasattr(file, "read"):
            raise TypeError(
                f"load: expected a path or a binary file, got {type(file).__name__}; "
                "bytes can be read through io.BytesIO(data)"
            )
        else:
            seekable = getattr(file, "seekable", lambda: False)()
            self.file = file if seekable else io.BytesIO(file.read())
            self.name = str(getattr(file, "name", f"<{type(file).__name__}>"))
            self.base = self.file.tell()
        self.size = self.file.seek(0, io.SEEK_END) - self.base
        if mapped and self.size:
            # A private copy of each page that is written to: the file itself never changes.
            self.map = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_COPY)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if self.is_path:
            self.file.close()

    def from_start(self) -> None:
        """Make the bytes begin at 0 of the file, for readers that count from there."""
        if self.base:
            self.file.seek(self.base)
            self.file, self.base = io.BytesIO(self.file.read()), 0

    def fail(self, text: str) -> FileFormatError:
        return FileFormatError(f"load: {self.name}: {text}")

    def _require(self, offset: int, count: int, what: str) -> None:
        if offset < 0 or count < 0 or offset + count > self.size:
            raise self.fail(
                f"{what} needs bytes {offset} to {offset + count}, but there are {self.size}; the "
                "file is cut short or damaged, copy or download it again"
            )

    def read(self, offset: int, count: int, what: str) -> bytes:
        self._require(offset, count, what)
        self.file.seek(self.base + offset)
        data = self.file.read(count)
        if len(data) != count:
            raise self.fail(f"{what}: the file became shorter while it was read")
        return data

    def tensor(self, offset: int, count: int, dtype: _C.dtype, what: str) -> Tensor:
        """``count`` elements: memory of the map if there is one and it is aligned, else a copy."""
        self._require(offset, count * dtype.itemsize, what)
        if self.map is not None and count and offset % dtype.itemsize == 0:
            return _C.frombuffer(self.map, dtype=dtype, count=count, offset=offset)
        values = _C.empty(count, dtype=dtype)
        self.fill(values, offset, what)
        return values

    def fill(self, values: Tensor, offset: int, what: str) -> None:
        """Read the bytes at ``offset`` into the memory of a contiguous tensor."""
        if not values.numel():
            return
        memory = memoryview(values.view(dtype=_C.uint8))
        self._require(offset, memory.nbytes, what)
        self.file.seek(self.base + offset)
        done = 0
        readinto: Any = getattr(self.file, "readinto", None)
        while done < memory.nbytes:
            if readinto is not None:
                count = readinto(memory[done:])
            else:
                piece = self.file.read(min(memory.nbytes - done, 1 << 20))
                count = len(piece)
                memory[done : done + count] = piece
            if not count:
                raise self.fail(f"{what}: the file became shorter while it was read")
            done += count
