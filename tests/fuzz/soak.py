"""The command `tools/soak`: every target one after the other, with progress and a summary."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable

from tests.fuzz import libfuzzer
from tests.fuzz.finding import Finding
from tests.fuzz.known import known
from tests.fuzz.runner import Result, run
from tests.fuzz.targets import SHARES, SHORT, TARGETS

NAMES = [*(name for name in TARGETS if name != "canary"), "libfuzzer"]
PROGRESS = 10.0  # seconds between two lines
SHOWN = 5  # findings of one kind and place


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/soak",
        description="Random calls, programs, files and faults. Every finding is printed with the command that reproduces it.",
        epilog="targets: " + ", ".join(NAMES),
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="for all targets together (60)")
    parser.add_argument("--only", default="", metavar="TARGETS", help="names with commas between")
    parser.add_argument("--seed", type=int, help="else a fresh one, which is printed")
    parser.add_argument("--case", type=int, help="this one case of the seed only")
    parser.add_argument(
        "--short", action="store_true", help="what CI runs: few cases, a fixed seed"
    )
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (2)")
    parser.add_argument(
        "--names", action="store_true", help="also list errors that name no operation"
    )
    return parser.parse_args()


class Progress:
    """Prints findings as they come, the first few of one kind and place, and a line now and then."""

    def __init__(self, name: str, names: bool) -> None:
        self.name, self.names = name, names
        self.seen: Counter[tuple[str, str, str, str]] = Counter()
        self.done: set[tuple[int, str, str]] = set()
        self.last = time.monotonic()

    def __call__(self, result: Result) -> None:
        self.show(result.findings)
        if time.monotonic() - self.last >= PROGRESS:
            self.last = time.monotonic()
            speed = result.cases / max(result.seconds, 1e-9)
            print(
                f"{self.name}: {result.cases:,} cases, {speed:,.0f} per second, "
                f"{len(self.seen)} kinds of findings, {result.seconds:.0f} s",
                flush=True,
            )

    def show(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            this = (finding.case, finding.kind, finding.where)
            if this in self.done or (finding.kind == "unnamed error" and not self.names):
                continue
            self.done.add(this)
            reason = known(finding)
            group = (*finding.group, reason)
            self.seen[group] += 1
            if self.seen[group] > (1 if reason else SHOWN):
                continue
            print(f"KNOWN ({reason})" if reason else "FOUND", finding.report(), flush=True)


def summary(name: str, result: Result) -> bool:
    """Prints what came out; True if nothing unexpected did."""
    new = [f for f in result.findings if not known(f) and f.kind != "unnamed error"]
    old = [f for f in result.findings if known(f)]
    speed = result.cases / max(result.seconds, 1e-9)
    line = f"{name:12} {result.cases:>10,} cases  {result.seconds:7.0f} s  {speed:8,.1f}/s"
    kinds = Counter(f.kind for f in new)
    found = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()) or "nothing found"
    print(f"{line}  {found}" + (f"; {len(old)} known" if old else ""))
    for what, count in result.counts.items():
        print(f"{'':12} {count:>10,} {what}")
    return not new


def run_target(name: str, seed: int, seconds: float, options: argparse.Namespace) -> Result | None:
    progress = Progress(name, options.names)
    if name == "libfuzzer":
        if not libfuzzer.available():
            print("libfuzzer: left out, as Atheris is not there: pip install atheris")
            return None
        result = libfuzzer.run(seed, min(seconds, 10) if options.short else seconds)
    elif options.case is not None:
        result = run(name, seed=seed, cases=1, jobs=1, first=options.case, progress=progress)
    elif options.short:
        result = run(name, seed=seed, cases=SHORT[name], jobs=options.jobs, progress=progress)
    else:
        result = run(name, seed=seed, seconds=seconds, jobs=options.jobs, progress=progress)
    progress.show(result.findings)
    return result


def main() -> int:
    options = arguments()
    chosen = [name for name in options.only.split(",") if name] or list(SHARES)
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        sys.exit(f"tools/soak: no target {', '.join(unknown)}; there are {', '.join(NAMES)}")
    seed = options.seed
    if seed is None:
        seed = 1 if options.short else random.SystemRandom().randrange(10**9)
    print(f"seed {seed}", flush=True)
    whole = sum(SHARES.get(name, 1.0) for name in chosen)
    results = {}
    for name in chosen:
        seconds = 60 * options.minutes * SHARES.get(name, 1.0) / whole
        result = run_target(name, seed, seconds, options)
        if result is not None:
            results[name] = result
            if result.stopped:
                break
    print(f"\nseed {seed}")
    good = [summary(name, result) for name, result in results.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
