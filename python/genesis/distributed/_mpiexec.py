"""The ``mpiexec`` that belongs to the MPI library which mpi4py loads, and its options."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

INSTALL = "pip install 'genesis-autograd[mpi]'"

# The library that mpi4py loads is determined at run time, so a separate process loads it.
_PROBE = """
import ctypes, os, sys
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version().split("\\n")[0])
if sys.platform == "darwin":
    dyld = ctypes.CDLL(None)
    dyld._dyld_get_image_name.restype = ctypes.c_char_p
    loaded = [dyld._dyld_get_image_name(i).decode() for i in range(dyld._dyld_image_count())]
elif os.path.exists("/proc/self/maps"):
    loaded = [line.split()[-1] for line in open("/proc/self/maps")]
else:
    loaded = []  # mpiexec is searched for in PATH then
for path in dict.fromkeys(loaded):
    if "/libmpi" in path: print(path)
"""


class MPINotFound(Exception):
    """There is no usable MPI; the message says what to install."""


@dataclass(frozen=True)
class MPI:
    """An MPI implementation: "mpich" or "openmpi", its own name, and its mpiexec."""

    kind: str
    version: str
    mpiexec: str

    def command(
        self,
        ranks: int,
        program: Sequence[str],
        hosts: Sequence[str] = (),
        agent: str | None = None,
        interface: str | None = None,
        address: str | None = None,
        tagged: bool = True,
        variables: Sequence[str] = (),
    ) -> list[str]:
        """The command line that starts ``program`` on ``ranks`` ranks."""
        words = [self.mpiexec]
        if self.kind == "mpich":
            words += ["-prepend-rank"] if tagged else []
            words += ["-hosts", ",".join(hosts)] if hosts else []
            words += ["-launcher", "ssh", "-launcher-exec", agent] if agent else []
            words += ["-iface", interface] if interface else []
            words += ["-localhost", address] if address else []
        else:
            # Threads of a rank need several cores, so ranks are not bound to one.
            words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
            words += ["--allow-run-as-root"] if os.geteuid() == 0 else []
            words += ["--tag-output"] if tagged else []
            words += ["--host", ",".join(hosts)] if hosts else []
            words += ["--prtemca", "plm_ssh_agent", agent] if agent else []
            words += ["--mca", "btl_tcp_if_include", interface] if interface else []
            words += ["--prtemca", "prte_if_include", address] if address else []
            for name in variables:
                words += ["-x", name]
        return [*words, "-n", str(ranks), *program]


def find(python: str = sys.executable) -> MPI:
    """The implementation that mpi4py uses under ``python``."""
    probe = subprocess.run([python, "-c", _PROBE], capture_output=True, text=True, timeout=60)
    if probe.returncode:
        reason = probe.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise MPINotFound(f"mpi4py cannot be used: {reason[0]}; install it with {INSTALL}")
    version, *libraries = probe.stdout.split("\n")
    kind = "openmpi" if version.startswith("Open MPI") else "mpich"
    places = [
        os.path.join(os.path.dirname(path), up, "bin")
        for path in libraries
        if path
        for up in ("..", "../..", "../../..")
    ]
    places += [os.path.dirname(os.path.abspath(python)), *os.get_exec_path()]
    seen = []
    for folder in dict.fromkeys(map(os.path.normpath, places)):
        path = shutil.which("mpiexec", path=folder)
        if path is None:
            continue
        seen.append(path)
        if _kind_of(path) == kind:
            return MPI(kind, version, path)
    raise MPINotFound(
        f"mpi4py uses {version}, but there is no mpiexec of it (found {seen or 'none'}); put the "
        f"right one first in PATH, or {INSTALL}"
    )


def _kind_of(mpiexec: str) -> str | None:
    """The family of an mpiexec; those of MPICH's relatives (Intel MPI, MVAPICH) are Hydra too."""
    try:
        said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = said.stdout + said.stderr
    if re.search(r"open ?mpi|prte|open-mpi", text, re.IGNORECASE):
        return "openmpi"
    return "mpich" if re.search(r"hydra|mpich|intel", text, re.IGNORECASE) else None
