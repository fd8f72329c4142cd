"""What each library costs before it has computed anything: its import, its memory, its folder.

python benchmarks/startup.py

The import is timed in processes of their own, in turn, by CPU time; the best of them counts. Only
the library's own folder is weighed, without the files that Python compiles into it.
"""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

LIBRARIES = ("torch", "genesis")
ROUNDS = 7
PROBE = """
import resource, time
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
import {}
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def import_cost(library: str) -> tuple[float, float]:
    """Milliseconds of CPU time and megabytes of memory of one import."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(library)], capture_output=True, text=True, check=True
    )
    seconds, kilobytes = map(float, done.stdout.split())
    return 1000 * seconds, kilobytes / 1024


def folder_size(library: str) -> float:
    """Megabytes of the folder that the library is installed in."""
    spec = importlib.util.find_spec(library)
    assert spec is not None and spec.origin is not None
    files = pathlib.Path(spec.origin).parent.rglob("*")
    sizes = (f.stat().st_size for f in files if f.is_file() and f.parent.name != "__pycache__")
    return sum(sizes) / 2**20


def main() -> None:
    costs: dict[str, list[tuple[float, float]]] = {library: [] for library in LIBRARIES}
    for _ in range(ROUNDS):
        for library in LIBRARIES:
            costs[library].append(import_cost(library))
    rows = {
        "import, ms": [min(ms for ms, _ in costs[library]) for library in LIBRARIES],
        "memory after import, MB": [min(mb for _, mb in costs[library]) for library in LIBRARIES],
        "folder, MB": [folder_size(library) for library in LIBRARIES],
    }
    print(f"{'':24}{'PyTorch':>9}{'Genesis':>9}{'ratio':>7}")
    for name, (theirs, ours) in rows.items():
        print(f"{name:24}{theirs:9.1f}{ours:9.1f}{ours / theirs:7.2f}")


if __name__ == "__main__":
    main()
