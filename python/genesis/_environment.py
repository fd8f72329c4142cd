"""What runs here: the package, its build, the processor, threads and memory."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

import genesis
from genesis import _C, memory

# What the kernels are compiled for, and what else would show in speed.
_FEATURES = ("avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16", "amx_bf16")


def _first(path: str, start: str) -> str:
    """What stands after the colon in the first line of a file that begins so."""
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(start):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _sysctl(name: str) -> str:
    """A property of the machine on macOS, which has no /proc."""
    if sys.platform != "darwin":
        return ""
    found = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True)
    return found.stdout.strip()


def _megabytes(name: str) -> float | None:
    text = _first("/proc/meminfo", name)
    return int(text.split()[0]) / 1024 if text else None


def _total_megabytes() -> float | None:
    total = _sysctl("hw.memsize")
    return int(total) / 2**20 if total else _megabytes("MemTotal")


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def lapack() -> Path | None:
    """The OpenBLAS next to the native module, for decompositions; products use our own kernels."""
    folder = Path(os.path.realpath(str(_C.__file__))).parent / "lib"
    return next(iter(sorted(folder.glob("*openblas*"))), None)


@functools.cache
def processor() -> str:
    """The processor's name for itself."""
    name = _first("/proc/cpuinfo", "model name") or _sysctl("machdep.cpu.brand_string")
    return name or platform.processor() or platform.machine()


def describe() -> dict[str, dict[str, object]]:
    """All of it, in groups.

    >>> describe()["genesis"]["version"] == genesis.__version__
    True
    """
    native = Path(os.path.realpath(str(_C.__file__)))
    flags = _first("/proc/cpuinfo", "flags").split()
    openblas = lapack()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "genesis": {
            "version": genesis.__version__,
            "folder": str(Path(str(genesis.__file__)).parent),
            "native module": f"{native.name}, {native.stat().st_size / 1e6:.1f} MB",
            "kernels in use": _C._isa(),
            "matrix products": "own kernels",
            "LAPACK": openblas.name if openblas else "not found",
        },
        "processor": {
            "name": processor(),
            "cores available": cores,
            "features": " ".join(f for f in _FEATURES if f in flags) or "unknown",
            "threads in use": genesis.get_num_threads(),
        },
        "memory": {
            "total": _text(_total_megabytes()),
            "available": _text(_megabytes("MemAvailable")),
            "held by tensors": _text(memory.allocated() / 1e6),
            "kept for tensors": _text(memory.cached() / 1e6),
        },
        "python": {
            "python": f"{platform.python_version()} ({platform.python_implementation()})",
            "system": platform.platform(),
            "numpy": _installed("numpy"),
            "torch": _installed("torch") or "not installed",
            "rich": _installed("rich") or "not installed",
            "executable": sys.executable,
        },
    }


def _text(megabytes: float | None) -> str:
    if megabytes is None:
        return "unknown"
    return f"{megabytes / 1024:.1f} GB" if megabytes >= 1024 else f"{megabytes:.1f} MB"
