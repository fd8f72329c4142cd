"""The same scenarios as in `faults.py`, with failing operator new: what is not from the library's own
allocator, such as vectors of more than a few elements, strings and hooks.

A worker of this target is started with a small library that replaces operator new (failing_new.cpp),
which is compiled when it is first needed.
"""

from __future__ import annotations

import ctypes
import functools
import pathlib
import shutil
import subprocess
import tempfile

from tests.fuzz.faults import Allocations

SOURCE = pathlib.Path(__file__).with_name("failing_new.cpp")


def compiler() -> str | None:
    return shutil.which("g++") or shutil.which("clang++")


@functools.cache
def library() -> str:
    """The path of the compiled library."""
    found = compiler()
    if found is None:
        raise RuntimeError("the target 'new' compiles a small library and needs g++ or clang++")
    folder = tempfile.mkdtemp(prefix="genesis-fuzz-")
    path = f"{folder}/failing_new.so"
    flags = ["-O1", "-std=c++17", "-shared", "-fPIC"]
    subprocess.run([found, *flags, "-o", path, str(SOURCE)], check=True)
    return path


class CountingNew:
    name = "operator new"

    def __init__(self) -> None:
        self.fail_new = ctypes.CDLL(None).fail_new
        self.fail_new.argtypes = [ctypes.c_long, ctypes.c_long]
        self.fail_new.restype = ctypes.c_long

    def arm(self, first: int, last: int) -> None:
        self.fail_new(first, last)

    def disarm(self) -> int:
        return self.fail_new(-1, -1)


class New(Allocations):
    def __init__(self) -> None:
        super().__init__()
        self.counting = CountingNew()

    @staticmethod
    def environment() -> dict[str, str]:
        return {"LD_PRELOAD": library()}
