"""Runs a script of `jobs/` on several ranks, always with a time limit and never leaving a process."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
from dataclasses import dataclass

import pytest

JOBS = pathlib.Path(__file__).parent / "jobs"

try:
    import mpi4py

    MPI = bool(mpi4py.__version__)
except ImportError:
    MPI = False
needs_mpi = pytest.mark.skipif(not MPI, reason="mpi4py is not installed")


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    def lines(self, rank: int) -> list[str]:
        start = f"[{rank}] "
        return [line[len(start) :] for line in self.out.splitlines() if line.startswith(start)]

    def __str__(self) -> str:
        return f"exit status {self.code}\n{self.out}\n{self.err}"


def command(*words: str, timeout: float = 60, cwd=None, **variables: str) -> Outcome:
    """A command with a time limit; when it ends, all of its processes have ended."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PMI_", "OMPI_", "GENESIS_"))}
    env.update(variables)
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=cwd,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            out, err = process.communicate(timeout=15)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        raise AssertionError(f"{words} took more than {timeout} s\n{out}\n{err}") from None
    return Outcome(process.returncode, out, err)


def run(
    ranks: int, job: str, *arguments: str, options=(), timeout: float = 60, cwd=None, **variables
):
    """`genesis run -n ranks jobs/job.py arguments`."""
    return command(
        sys.executable, "-m", "genesis.run", "-n", str(ranks), *options, str(JOBS / f"{job}.py"),
        *arguments, timeout=timeout, cwd=cwd, **variables,
    )  # fmt: skip


def passes(ranks: int, job: str, *arguments: str, **options) -> Outcome:
    """The same for a job that must succeed; it prints "ok" on every rank at its end."""
    outcome = run(ranks, job, *arguments, **options)
    assert outcome.code == 0, outcome
    assert all(outcome.lines(rank)[-1:] == ["ok"] for rank in range(ranks)), outcome
    return outcome
