"""Atomic writes: a file is either the complete old or the complete new one."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import IO, Any

fcntl: Any
try:
    import fcntl
except ImportError:  # not a POSIX system: files of dead processes stay
    fcntl = None

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.genesis\.tmp", re.DOTALL)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends without an error.

    It is written beside ``path`` under another name, forced to the disk, and renamed, which is one
    step: who opens ``path`` at any time, also after a crash, finds one of the two whole. What
    processes that were killed left in the folder is removed.
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
    made: list[str] = []  # the files that there may be, as a signal may come at any time
    try:
        descriptor = _create(folder, name, made)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.chmod(made[-1], mode)
            os.fsync(file.fileno())
            os.replace(
                made[-1], target
            )  # before the lock is released with the descriptor: the file is not stale
    except BaseException as error:
        for temporary in made:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, FileNotFoundError) and error.filename in made:
            text = "save: the folder does not exist; make it with os.makedirs()"
            raise FileNotFoundError(2, text, os.fspath(path)) from None
        if isinstance(error, OSError) and (error.filename is None or error.filename in made):
            error.filename, error.filename2 = os.fspath(path), None  # the name that the user knows
        raise
    _sync_folder(folder)
    _remove_stale(folder)


def _create(folder: str, name: str, made: list[str]) -> int:
    """A new file, whose name is put at the end of ``made``: hidden, and never the name of another.

    It is locked as long as the process lives: who can lock it knows that nobody writes it any more.
    """
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        made.append(os.path.join(folder, temporary_name(name)))
        descriptor = os.open(made[-1], flags, 0o666)
        if fcntl is None:
            return descriptor
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # taken for stale, and removed, before it was locked


def temporary_name(name: str) -> str:
    """What a file is called while it is written: hidden, and never the name of another."""
    short = os.fsdecode(os.fsencode(name)[:200])  # a name has at most 255 bytes
    return f".{short}.{secrets.token_hex(6)}.genesis.tmp"


def _remove_stale(folder: str) -> None:
    """Remove temporary files whose writers have died."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        os.unlink(entry.path)
                    finally:
                        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Force the new name to the disk too; some file systems cannot, and need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
