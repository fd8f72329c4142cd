"""Writers that fail in the middle: a full disk, errors of the device, a limit of the file's size.

Whatever happens, the writer raises OSError, the old file is still there and whole, no temporary
file is left, and the next save succeeds.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import random
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import genesis
from genesis import profiler
from genesis.serialization import load_file, save_file

from tests.fuzz.finding import Finding, one_line
from tests.fuzz.target import Target

CALLS = ("write", "fsync", "replace", "open", "chmod")


class Full(io.RawIOBase):
    """A file that takes some bytes and then has no room."""

    def __init__(self, room: int, code: int) -> None:
        self.room, self.code = room, code

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if size > self.room:
            raise OSError(self.code, os.strerror(self.code))
        self.room -= size
        return size


def _profile() -> profiler.profile:
    with profiler.profile() as p:
        (genesis.ones(30, requires_grad=True) * 2).sum().backward()
    return p


class Writers(Target):
    seconds = 20.0

    def __init__(self) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then write fails with EFBIG
        self.folder = tempfile.TemporaryDirectory()
        x = genesis.arange(3000.0)
        self.state = {"x": x, "half": x.half(), "list": [1, {"t": x[:5]}]}
        profile = _profile()
        graph = genesis.debug.graph((genesis.ones(3, requires_grad=True) * 2).sum())
        self.writers: dict[str, Callable[[str], Any]] = {
            "state.safetensors": lambda path: genesis.save(self.state, path),
            "state.pt": lambda path: genesis.save(self.state, path),
            "state.npy": lambda path: genesis.save(x, path),
            "state.npz": lambda path: genesis.save({"x": x}, path),
            "file.safetensors": lambda path: save_file({"x": x}, path),
            "trace.json": profile.export_chrome_trace,
            "graph.svg": graph.save,
        }
        self.files = [name for name in self.writers if name.startswith(("state", "file"))]

    def case(self, rng: random.Random) -> Iterator[Finding]:
        name = rng.choice(list(self.writers))
        path = os.path.join(self.folder.name, name)
        write = self.writers[name]
        write(path)
        with open(path, "rb") as file:
            old = file.read()
        how = rng.choice(["limit", "device", "stream", *CALLS])
        if name not in self.files and how != "write":
            how = "limit"
        number = rng.randrange(len(old)) if how in ("limit", "stream") else rng.randint(0, 2)
        self.note(f"{name} {how} {number}(")
        where, code = f"{name} {how}", f"{name}, {how} fails at {number}"
        error: BaseException | None = None
        try:
            with self.fault(how, number, rng):
                if how == "stream":
                    genesis.save(self.state, io.BufferedWriter(Full(number, errno.ENOSPC), 64))
                elif how == "device":
                    write("/dev/full")
                else:
                    write(path)
        except BaseException as caught:
            error = caught
        if how == "limit" and error is None:
            yield Finding("no error", where, "a file beyond the limit was written", code)
        if error is not None and not isinstance(error, OSError):
            yield Finding("not OSError", where, one_line(error), code)
        error = None
        if name in self.files:  # reports are not replaced in one step
            with open(path, "rb") as file:
                if file.read() != old:
                    yield Finding("damaged", where, "the old file is not what it was", code)
        left = [entry for entry in os.listdir(self.folder.name) if entry not in self.writers]
        if left:
            yield Finding("left over", where, str(left), code)
            for entry in left:
                os.unlink(os.path.join(self.folder.name, entry))
        write(path)
        if name.endswith(".safetensors"):
            (load_file if name.startswith("file") else genesis.load)(path)
        elif name in self.files:
            genesis.load(path)

    @contextlib.contextmanager
    def fault(self, how: str, number: int, rng: random.Random) -> Iterator[None]:
        if how == "limit":
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (number, most))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        elif how in CALLS:
            real = getattr(os, how)
            count = 0

            def fails(*args: Any, **kwargs: Any) -> Any:
                nonlocal count
                count += 1
                if count > number:
                    code = rng.choice([errno.EIO, errno.ENOSPC, errno.EDQUOT])
                    raise OSError(code, os.strerror(code))
                return real(*args, **kwargs)

            setattr(os, how, fails)
            try:
                yield
            finally:
                setattr(os, how, real)
        else:
            yield
