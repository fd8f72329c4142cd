"""libFuzzer, guided by the coverage of the readers of files (Atheris: `pip install atheris`).

    python -m tests.fuzz.libfuzzer SEED SECONDS

The readers are Python, so it is their bytecode that is instrumented. It starts from one file of each
kind, and prints findings as JSON, one per line, of each kind of error one.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

from tests.fuzz.finding import Finding, one_line
from tests.fuzz.runner import ROOT, Result


def available() -> bool:
    return importlib.util.find_spec("atheris") is not None


def run(seed: int, seconds: float) -> Result:
    """In a process of its own, since libFuzzer ends the one that it runs in."""
    result = Result()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.fuzz.libfuzzer", str(seed), str(int(seconds) or 1)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"FUZZ_FOLDER": folder})  # fmt: skip
        result.seconds = time.monotonic() - begin
        for line in done.stdout.splitlines():
            result.findings.append(Finding.from_json(line))
        for line in done.stderr.splitlines():
            if line.startswith("Done "):
                result.cases = int(line.split()[1])
        if done.returncode != 0:
            left = sorted(pathlib.Path(folder).glob("*-*"))
            code = left[0].read_bytes()[:2000].hex() if left else ""
            kind = "hang" if "timeout" in done.stderr else "crash"
            result.findings.append(
                Finding(kind, "load", done.stderr[-2000:], code, "libfuzzer", seed)
            )
    return result


def instrument(one: Callable[[Any], Any]) -> None:
    """Every function and method of the readers, in place. (Atheris can do it at the import, but not
    through the loader of an editable installation.)"""
    from genesis import serialization

    for info in pkgutil.iter_modules(serialization.__path__, "genesis.serialization."):
        module = importlib.import_module(info.name)
        for owner in (module, *(v for v in vars(module).values() if isinstance(v, type))):
            for value in list(vars(owner).values()):
                function = inspect.unwrap(
                    getattr(value, "fget", None) or getattr(value, "__func__", value)
                )
                if isinstance(function, types.FunctionType) and function.__module__ == info.name:
                    one(function)


def main() -> None:
    import atheris

    seed, seconds = sys.argv[1:3]
    instrument(atheris.instrument_func)
    import genesis
    from genesis.serialization import FileFormatError

    from tests.files.test_bad_files import FILES
    from tests.fuzz.files import touch

    folder = pathlib.Path(os.environ.get("FUZZ_FOLDER") or tempfile.mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for name, data in FILES.items():
        (corpus / name).write_bytes(data)
    seen: set[tuple[str, str]] = set()

    def one_input(data: bytes) -> None:
        try:
            touch(genesis.load(io.BytesIO(data), weights_only=len(data) % 2 == 0))
        except FileFormatError:
            pass
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(frame.filename)} in {frame.name}"
            if (type(error).__name__, where) not in seen:
                seen.add((type(error).__name__, where))
                found = Finding("other error", f"{where} {type(error).__name__}", one_line(error), data.hex()[:4000], "libfuzzer", int(seed))  # fmt: skip
                print(found.to_json(), flush=True)

    options = [
        f"-seed={seed}",
        f"-max_total_time={seconds}",
        "-max_len=20000",
        "-timeout=20",
        "-rss_limit_mb=3000",
    ]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
