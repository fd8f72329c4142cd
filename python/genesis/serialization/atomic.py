"""Files that are either the old or the new, whole, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import IO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends without an error.

    It is written beside ``path`` under another name, forced to the disk, and renamed, which is one
    step: who opens ``path`` at any time, also after a crash, finds one of the two whole.
    """
    target = os.path.realpath(path)
    mode: int | None = None
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(target)
        if not stat.S_ISREG(status.st_mode):
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(f"save: {target} is a directory; name a file in it")
            with open(target, "wb") as device:  # a pipe or a device cannot be replaced
                yield device
            return
        mode = stat.S_IMODE(status.st_mode)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, temporary_name(name))
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:  # from here on, as a signal may come as soon as the file is there
        descriptor = os.open(temporary, flags, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.chmod(temporary, mode)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def temporary_name(name: str) -> str:
    """What a file is called while it is written: hidden, and never the name of another."""
    return f".{name}.{secrets.token_hex(6)}.tmp"


def _sync_folder(folder: str) -> None:
    """Force the new name to the disk too; some file systems cannot, and need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
