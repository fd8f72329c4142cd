"""Tests of kernels for narrower instruction sets than the one that this process uses."""

import os
import pathlib
import subprocess
import sys

import genesis

_LEVELS = ("baseline", "bf16" if genesis._C._isa() == "bf16" else "avx2", "avx512")
NARROWER = _LEVELS[: _LEVELS.index(genesis._C._isa())]


def run(isa, *arguments):
    """Run Python with these arguments in a process that is limited to an instruction set."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "GENESIS_ISA": isa},
        cwd=pathlib.Path(__file__).parent.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def run_tests(isa, *arguments):
    """Run pytest with these arguments in a process that is limited to an instruction set."""
    run(isa, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments)
