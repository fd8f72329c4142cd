"""Every reader of files, with files that are damaged at random or in their structure.

A file loads or raises FileFormatError; it does not crash, hang, take memory that the file does not
have the size for, run anything, or raise something else.
"""

from __future__ import annotations

import io
import os
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import genesis
from genesis.serialization import FileFormatError, load_file, read_metadata

from tests.files.test_bad_files import FILES
from tests.fuzz.finding import Finding, one_line
from tests.fuzz.mutate import BYTES, STRUCTURED, any_json, change_json
from tests.fuzz.target import Target


def touch(value: Any, depth: int = 0) -> None:
    """Reads whatever tensors are in it."""
    if isinstance(value, genesis.Tensor):
        if value.numel() < 10**6:
            value.clone()
    elif depth < 50 and isinstance(value, dict):
        for key, item in value.items():
            touch(key, depth + 1)
            touch(item, depth + 1)
    elif depth < 50 and isinstance(value, (list, tuple, set)):
        for item in value:
            touch(item, depth + 1)


class Files(Target):
    seconds = 10.0
    memory = 1 << 29  # the files are small

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "file")
        model = genesis.nn.Sequential(genesis.nn.Linear(2, 3), genesis.nn.BatchNorm1d(3))
        optimizer = genesis.optim.Adam(model.parameters())
        model(genesis.ones(2, 2)).sum().backward()
        optimizer.step()
        self.model, self.optimizer = model, optimizer
        scheduler = genesis.optim.lr_scheduler.StepLR(optimizer, 2)
        self.holders = {"Module": model, "Optimizer": optimizer, "LRScheduler": scheduler}

    def case(self, rng: random.Random) -> Iterator[Finding]:
        if rng.random() < 0.08:
            yield from self.state(rng)
            return
        kind = rng.choice(list(FILES))
        data = FILES[kind]
        try:
            structured = rng.random() < 0.7
            data = STRUCTURED[kind](rng, data) if structured else rng.choice(BYTES)(rng, data)
        except (OverflowError, RecursionError, UnicodeError):
            return  # a change that the format has no way to write
        how, read = rng.choice(self.readers(data))
        self.note(f"{how} of a damaged file of the kind {kind}(")
        try:
            touch(read())
        except FileFormatError as error:
            if not str(error).startswith(("load", "read_metadata")):
                yield Finding("unnamed error", f"{how} {kind}", one_line(error), repr(data[:300]))
        except Exception as error:
            text = one_line(error)
            yield Finding(
                "other error", f"{how} {kind} {type(error).__name__}", text, repr(data[:2000])
            )

    def readers(self, data: bytes) -> list[tuple[str, Callable[[], Any]]]:
        def at_path(read: Callable[[str], Any]) -> Callable[[], Any]:
            def run() -> Any:
                with open(self.path, "wb") as file:
                    file.write(data)
                return read(self.path)

            return run

        return [
            ("load", lambda: genesis.load(io.BytesIO(data))),
            ("load", lambda: genesis.load(io.BytesIO(data), weights_only=False)),
            ("load path", at_path(genesis.load)),
            ("load mmap", at_path(lambda path: genesis.load(path, mmap=True))),
            ("load_file", at_path(load_file)),
            ("read_metadata", at_path(read_metadata)),
        ]

    def state(self, rng: random.Random) -> Iterator[Finding]:
        """State dicts with something changed: refused with a message, or taken."""
        name = rng.choice(list(self.holders))
        holder = self.holders[name]
        good = holder.state_dict()
        bad = change_json(rng, dict(good)) if rng.random() < 0.9 else any_json(rng)
        self.note(f"{name}.load_state_dict({bad!r:.3000}")
        try:
            holder.load_state_dict(bad)
        except (TypeError, ValueError, RuntimeError, KeyError) as error:
            if isinstance(error, RecursionError):
                yield Finding(
                    "other error", f"{name}.load_state_dict", one_line(error), repr(bad)[:500]
                )
        except Exception as error:
            yield Finding(
                "other error", f"{name}.load_state_dict", one_line(error), repr(bad)[:500]
            )
        holder.load_state_dict(good)
