"""A worker process: runs cases one after the other and says which one it is at.

    python -m tests.fuzz.worker TARGET SEED FIRST STEP BOARD

What it is doing is on a *board*, a file mapped by worker and runner, so that it can be read after a
crash: the number of the case, and the call as text. Findings go to standard output, one JSON object
per line.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import mmap
import os
import random
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Iterator

from tests.fuzz.finding import Finding, one_line, rng_of
from tests.fuzz.target import COUNTS, Target

BOARD_BYTES = 16384
_HEAD = struct.Struct(f"<qq{COUNTS}q")  # case, length of the text, counts


class Board:
    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), BOARD_BYTES)
        self.counts = [0] * COUNTS

    def write(self, case: int, text: str = "") -> None:
        data = text.encode(errors="replace")[: BOARD_BYTES - _HEAD.size]
        self.memory[_HEAD.size : _HEAD.size + len(data)] = data
        self.memory[: _HEAD.size] = _HEAD.pack(case, len(data), *self.counts)

    def read(self) -> tuple[int, str]:
        case, length, *self.counts = _HEAD.unpack(self.memory[: _HEAD.size])
        return case, self.memory[_HEAD.size : _HEAD.size + length].decode(errors="replace")


def limit_memory(more: int) -> None:
    """No more address space than now and `more` bytes."""
    # Sanitizers map most of the address space; other systems do not enforce the limit.
    if {"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ) or sys.platform != "linux":
        return
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + more, now + more))


def cases_findings(target: Target, rng: random.Random) -> Iterator[Finding]:
    try:
        yield from target.case(rng)
    except Exception as error:  # nothing that a target expects, so the target itself is wrong
        yield Finding("error of the fuzzer", one_line(error, 80), traceback.format_exc(limit=-6))


def main() -> None:
    name, seed, first, step, path = sys.argv[1:]
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):  # a worker does not outlive the runner
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    from tests.fuzz.targets import TARGETS

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the library prints is not a finding
    board = Board(path)
    case = int(first)
    board.read()  # the counts of a worker before this one
    target = TARGETS[name]()
    target.counts = board.counts
    gc.freeze()  # what imports made is not looked at again by every collection
    limit_memory(target.memory)
    while case < target.cases:
        board.write(case)
        target.note = lambda text, case=case: board.write(case, text)
        for finding in cases_findings(target, rng_of(name, int(seed), case)):
            finding.target, finding.seed, finding.case = name, int(seed), case
            with contextlib.suppress(BrokenPipeError):
                print(finding.to_json(), file=out)
        case += int(step)
    board.write(case)


if __name__ == "__main__":
    main()
