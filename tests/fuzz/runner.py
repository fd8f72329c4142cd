"""Runs cases of a target in worker processes until a number of cases or a time is reached."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.fuzz.finding import Finding
from tests.fuzz.worker import BOARD_BYTES, Board

STARTING = "start("  # what a worker is at until its first case
ROOT = pathlib.Path(__file__).parents[2]


@dataclass
class Result:
    cases: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    stopped: bool = False  # by Ctrl-C


class Worker:
    """One process, started anew after the case that killed it."""

    def __init__(
        self, name: str, seed: int, first: int, step: int, folder: str, environment: dict[str, str]
    ) -> None:
        self.name, self.seed, self.first, self.step = name, seed, first, step
        self.environment = environment
        self.path = os.path.join(folder, f"{name}-{first}")
        with open(self.path, "wb") as file:
            file.write(bytes(BOARD_BYTES))
        self.board = Board(self.path)
        self.done = 0
        self.lines: list[str] = []
        self.start(first)

    def start(self, case: int) -> None:
        self.started_at = case
        self.board.write(case, STARTING)
        self.errors = open(f"{self.path}.err", "w+b")  # noqa: SIM115
        arguments = [self.name, str(self.seed), str(case), str(self.step), self.path]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *arguments],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            cwd=ROOT,
            text=True,
            env=os.environ | self.environment,
            start_new_session=True,  # what it starts ends with it
        )
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True)
        self.reader.start()
        self.seen, self.since, self.cpu = -1, time.monotonic(), 0.0

    def read(self, pipe: Iterable[str]) -> None:
        for line in pipe:
            self.lines.append(line)

    def cpu_seconds(self) -> float:
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def case(self) -> int:
        return self.board.read()[0]

    def count(self) -> int:
        return self.done + (self.case() - self.started_at) // self.step

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.close()

    def close(self) -> None:
        self.reader.join(5)
        if self.process.stdout:
            self.process.stdout.close()
        self.errors.close()

    def stuck(self, seconds: float) -> bool:
        """The same case for longer than its limit, of computing or, on a busy machine, of waiting."""
        now = time.monotonic()
        case, text = self.board.read()
        if text == STARTING:  # imports take a while
            return now - self.since > 120
        if case != self.seen:
            self.seen, self.since, self.cpu = case, now, self.cpu_seconds()
        used = self.cpu_seconds() - self.cpu
        return used > seconds or now - self.since > 4 * seconds

    def stack(self) -> str:
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")
        return "\n".join(text.strip().splitlines()[-25:])

    def finding(self, kind: str, text: str) -> Finding:
        case, code = self.board.read()
        where = code.split("(")[0].strip() or "before the first call"
        return Finding(kind, where, text, code, self.name, self.seed, case)

    def next(self) -> None:
        self.done += (self.case() - self.started_at) // self.step + 1
        self.close()
        self.start(self.case() + self.step)


def _watch(worker: Worker, limit: float) -> Finding | None:
    """The end of a worker, if it came; None while all is well."""
    code = worker.process.poll()
    if code is not None:
        worker.reader.join(5)
        if code == 0:
            return Finding("done", "", "")
        if worker.board.read()[1] == STARTING:
            raise RuntimeError(f"the target {worker.name!r} cannot be made:\n{worker.stack()}")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return worker.finding("crash", f"{how}\n{worker.stack()}")
    if worker.stuck(limit):
        worker.process.send_signal(signal.SIGUSR1)  # faulthandler writes the stack
        time.sleep(0.3)
        found = worker.finding("hang", f"more than {limit} s\n{worker.stack()}")
        worker.kill()
        return found
    return None


def collect(result: Result, workers: list[Worker], stop_at: int) -> None:
    for worker in workers:
        while worker.lines:
            line = worker.lines.pop(0)
            if line.endswith("\n") and (found := Finding.from_json(line)).case < stop_at:
                result.findings.append(found)


def run(
    name: str,
    *,
    seed: int,
    cases: int | None = None,
    seconds: float | None = None,
    jobs: int = 2,
    first: int = 0,
    progress: Callable[[Result], None] | None = None,
) -> Result:
    """Cases `first`, `first` + 1, ... until `cases` were run or `seconds` have passed."""
    from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    result = Result()
    begin = time.monotonic()
    jobs = min(jobs, cases or jobs)
    environment = target.environment()
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker(name, seed, first + i, jobs, folder, environment) for i in range(jobs)]
        active = list(workers)
        stop_at = first + cases if cases is not None else target.cases
        try:
            while active:
                time.sleep(0.05)
                for worker in list(active):
                    if worker.case() >= stop_at:  # it has done its share
                        worker.kill()
                        active.remove(worker)
                        continue
                    end = _watch(worker, target.seconds)
                    if end is None:
                        continue
                    if end.kind != "done":
                        result.findings.append(end)
                        if worker.case() + jobs < stop_at:
                            worker.next()
                            continue
                        worker.done += 1
                    active.remove(worker)
                result.seconds = time.monotonic() - begin
                collect(result, workers, stop_at)
                result.cases = sum(worker.count() for worker in workers)
                for i, what in enumerate(target.count_names):
                    result.counts[what] = sum(worker.board.counts[i] for worker in workers)
                if progress:
                    progress(result)
                if seconds is not None and result.seconds > seconds:
                    break
        except KeyboardInterrupt:
            result.stopped = True
        finally:
            for worker in workers:
                worker.kill()
        collect(result, workers, stop_at)
    result.findings.sort(key=lambda f: f.case)
    return result
