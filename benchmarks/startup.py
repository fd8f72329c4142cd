"""What each library costs before it has computed anything: its import, memory, folder and wheel.

python benchmarks/startup.py

The import is timed in processes of their own, in turn, by CPU time; the best of them counts. Memory
is what is resident after the import, less what was before. Only the library's own folder is
weighed, without the files that Python compiles into it. The wheel of Genesis is the one that
tools/wheel left in dist/, that of PyTorch the one that pip would download for this version.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import pathlib
import subprocess
import sys
import urllib.request

LIBRARIES = ("torch", "genesis")
ROUNDS = 7
ROOT = pathlib.Path(__file__).parent.parent
PROBE = """
import os, time
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before, start = resident(), time.process_time()
import {}
print(time.process_time() - start, resident() - before)
"""


def import_cost(library: str) -> tuple[float, float]:
    """Milliseconds of CPU time and megabytes of memory of one import."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(library)], capture_output=True, text=True, check=True
    )
    seconds, memory = map(float, done.stdout.split())
    return 1000 * seconds, memory / 2**20


def folder_size(library: str) -> float:
    """Megabytes of the folder that the library is installed in."""
    spec = importlib.util.find_spec(library)
    assert spec is not None and spec.origin is not None
    files = pathlib.Path(spec.origin).parent.rglob("*")
    sizes = (f.stat().st_size for f in files if f.is_file() and f.parent.name != "__pycache__")
    return sum(sizes) / 2**20


def wheel_size(library: str) -> float | None:
    """Megabytes of the file that pip downloads; None if it cannot be found."""
    if library == "genesis":
        wheels = sorted((ROOT / "dist").glob("*.whl"), key=lambda f: f.stat().st_mtime)
        return wheels[-1].stat().st_size / 2**20 if wheels else None
    wanted = f"{library}=={importlib.metadata.version(library)}"
    options = ["--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", "-"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, wanted], capture_output=True, text=True
    )
    if done.returncode != 0:
        return None
    url = json.loads(done.stdout)["install"][0]["download_info"]["url"]
    if url.startswith("file:"):
        return pathlib.Path(urllib.request.url2pathname(url[7:])).stat().st_size / 2**20
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
        return int(answer.headers["Content-Length"]) / 2**20


def main() -> None:
    costs: dict[str, list[tuple[float, float]]] = {library: [] for library in LIBRARIES}
    for _ in range(ROUNDS):
        for library in LIBRARIES:
            costs[library].append(import_cost(library))
    rows = {
        "import, ms": [min(ms for ms, _ in costs[library]) for library in LIBRARIES],
        "memory after import, MB": [min(mb for _, mb in costs[library]) for library in LIBRARIES],
        "folder, MB": [folder_size(library) for library in LIBRARIES],
        "wheel, MB": [wheel_size(library) for library in LIBRARIES],
    }
    print(f"{'':24}{'PyTorch':>9}{'Genesis':>9}{'ratio':>7}")
    for name, (theirs, ours) in rows.items():
        if theirs is None or ours is None:
            print(
                f"{name:24}"
                + "".join(f"{'-' if v is None else f'{v:.1f}':>9}" for v in (theirs, ours))
            )
        else:
            print(f"{name:24}{theirs:9.1f}{ours:9.1f}{ours / theirs:7.3f}")


if __name__ == "__main__":
    main()
