"""``genesis run``: starts a script on several ranks, and starts it again when a rank is lost."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from genesis.cli.arguments import Failure, Parser, number
from genesis.distributed import _mpiexec, _status

_TAG = re.compile(r"^\[[^\]]*[,@](\d+)\]<std(?:out|err)>: ?")  # of Open MPI
_GRACE = 5.0  # seconds between asking mpiexec to end and ending it by force
_SAVING = 30.0  # seconds that ranks have to save a checkpoint after a signal, as under Slurm


def _parser() -> Parser:
    parser = Parser(
        "genesis run",
        """
        Run a script on several ranks over MPI.

        The script calls genesis.distributed.init_process_group(). It also runs on its own, and
        under plain mpiexec or srun.
        """,
        """
        examples:
          genesis run -n 4 train.py --epochs 10
          genesis run -n 8 --hosts node1:4,node2:4 train.py
          genesis run -n 4 --max-restarts 3 --min-ranks 2 train.py
        """,
    )
    parser.add_argument("-n", "--ranks", type=number(1), default=1, help="how many ranks (1)")
    parser.add_argument("--hosts", help="comma-separated host names; host:2 for two ranks on it")
    parser.add_argument(
        "--launcher-exec", metavar="FILE", help="program used in place of ssh to reach a host"
    )
    parser.add_argument(
        "--address", help="address of this host that the other hosts can reach, if its name is not"
    )
    parser.add_argument(
        "--interface", metavar="NAME", help="network interface to use, for example eth0"
    )
    parser.add_argument(
        "--max-restarts",
        type=number(0),
        default=0,
        metavar="K",
        help="start the job again after a failure, at most K times (0)",
    )
    parser.add_argument(
        "--min-ranks",
        type=number(1),
        default=None,
        metavar="M",
        help="a restart after a lost rank uses half the ranks, but at least M (default: all)",
    )
    parser.add_argument(
        "--no-prefix", action="store_true", help="do not write the rank before each line of output"
    )
    parser.add_argument(
        "-m",
        "--module",
        action="store_true",
        help="the script is the name of a module, as with python -m",
    )
    parser.add_argument("script", help="the script to run")
    parser.add_argument("arguments", nargs="...", help="its arguments")
    return parser  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit status of the job."""
    options = _parser().parse_args(list(arguments))
    if not options.module and not os.path.isfile(options.script):
        raise Failure(
            f"genesis run: {options.script}: no such file\n`genesis run --help` lists the options"
        )
    if options.min_ranks is not None and options.min_ranks > options.ranks:
        raise Failure(
            f"genesis run: --min-ranks {options.min_ranks} is more than the {options.ranks} ranks"
        )
    script = (["-m"] if options.module else []) + [options.script, *options.arguments]
    mpi: _mpiexec.MPI | None = None
    try:
        mpi = _mpiexec.find()
    except _mpiexec.MPINotFound as missing:
        if options.ranks > 1 or options.hosts:
            raise Failure(f"genesis run: {missing}", 1) from None
    ranks: int = options.ranks
    for attempt in range(options.max_restarts + 1):
        code = _Job(options, script, mpi, ranks, attempt).run()
        if code in (0, 130):
            return code
        left = options.max_restarts - attempt
        if left:
            if options.min_ranks is not None:
                ranks = max(options.min_ranks, ranks // 2)
            _say(
                f"starting again with {ranks} ranks; {left} of {options.max_restarts} restarts left"
            )
    return code


def _say(text: str) -> None:
    print(f"genesis run: {text}", file=sys.stderr, flush=True)


def _die_with_parent() -> None:
    """In the new process: end when the launcher is killed, even by SIGKILL (Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class _Job:
    """One start of the script on a number of ranks."""

    def __init__(
        self, options: Any, script: list[str], mpi: _mpiexec.MPI | None, ranks: int, attempt: int
    ) -> None:
        self.options = options
        self.ranks = ranks
        start = ["-m", "genesis.distributed._start", *script]
        # Ranks on other hosts can only write their status to a directory that hosts share.
        place = os.getcwd() if options.hosts else None
        self.directory = tempfile.mkdtemp(prefix=".genesis-run-", dir=place)
        self.environ = dict(
            os.environ,
            GENESIS_RESTART_COUNT=str(attempt),
            TORCHELASTIC_RESTART_COUNT=str(attempt),
        )
        self.environ[_status.VARIABLE] = self.directory
        if mpi is None:
            self.command = [sys.executable, *start]
        else:
            names = [
                n for n in self.environ if n.startswith(("GENESIS_", "TORCHELASTIC_", "PYTHON"))
            ]
            self.command = mpi.command(
                ranks,
                [sys.executable, "-m", "mpi4py", *start],
                hosts=options.hosts.split(",") if options.hosts else (),
                agent=options.launcher_exec,
                interface=options.interface,
                address=options.address,
                tagged=not options.no_prefix,
                variables=names,
            )

    def run(self) -> int:
        """Start the ranks, pass their output on, and return the exit status of the job."""
        began = time.monotonic()
        stop: list[int] = []
        try:
            process = subprocess.Popen(
                self.command,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that all of it can be ended at once
                preexec_fn=_die_with_parent,
            )

            def on_signal(number: int, _: Any) -> None:
                stop.append(number)
                process.terminate()

            previous = {
                s: signal.signal(s, on_signal)
                for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
                if threading.current_thread() is threading.main_thread()
            }
            pumps = [
                threading.Thread(target=_pass_on, args=pair, daemon=True)
                for pair in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
            ]
            for pump in pumps:
                pump.start()
            try:
                code = self._wait(process, stop)
            finally:
                _end(process)
                for pump in pumps:
                    pump.join(timeout=_GRACE)
                for s, handler in previous.items():
                    signal.signal(s, handler)
            if stop:
                return 130 if stop[0] == signal.SIGINT else 128 + stop[0]
            if code:
                self._report(code, time.monotonic() - began)
            return code if code >= 0 else 128 - code
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _wait(self, process: subprocess.Popen[bytes], stop: list[int]) -> int:
        asked: float | None = None
        failed: float | None = None
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(timeout=0.3)
            if stop:
                asked = asked or time.monotonic()
                if len(stop) > 1 or time.monotonic() - asked > _SAVING:
                    return 128 + stop[0]
            # mpiexec waits for ever for a host that it cannot reach, so it is not left alone.
            if failed is None and _status.any_failed(self.directory):
                failed = time.monotonic()
            if failed is not None and time.monotonic() - failed > _GRACE:
                return 1

    def _report(self, code: int, seconds: float) -> None:
        """Who failed, and what the other ranks waited for."""
        lines = [f"the job failed with exit status {code} after {seconds:.1f} s"]
        found = _status.read(self.directory)
        for rank in range(self.ranks):
            lines.append(f"  rank {rank}: {found.get(rank, 'left no status')}")
        _say("\n".join(lines))


def _pass_on(source: IO[bytes], target: IO[str]) -> None:
    """Copy lines as they arrive, prefixed with "[rank]" for every MPI implementation."""
    for line in source:
        text = line.decode(errors="replace")
        with contextlib.suppress(ValueError, OSError):  # our own output may be closed
            target.write(_TAG.sub(r"[\1] ", text))
            target.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave no process behind: terminate mpiexec, which ends its ranks, or kill it."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
