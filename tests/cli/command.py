"""Calls the command, in this process or in one of its own."""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

import genesis
from genesis.cli import main

PACKAGE = pathlib.Path(genesis.__file__).parents[1]


@dataclass
class Result:
    status: int
    out: str
    err: str


def run(*arguments: object) -> Result:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([str(a) for a in arguments])
    return Result(status, out.getvalue(), err.getvalue())


def start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=None, **environment):
    """A process of its own, for signals and terminals."""
    path = os.pathsep.join([str(PACKAGE), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-m", "genesis", *map(str, arguments)],
        stdout=stdout, stderr=stderr, text=True, cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip
