"""Checkpoints of training runs: the complete state of a run in one file."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genesis.serialization import FileFormatError, load, read_metadata, save
from genesis.serialization.structure import check
from genesis.utils import random_state

__all__ = ["Checkpoint"]

_FILE = re.compile(r"step-(\d+)\.safetensors")
_RESERVED = ("step", "random", "values")


class Checkpoint:
    """Saves and restores a training run. A resumed run gives bitwise the same results.

    ``parts`` are the objects with state: model, optimizer, scheduler, scaler, loader, generators;
    anything with ``state_dict`` and ``load_state_dict``, or ``get_state`` and ``set_state``. The
    random state of Genesis, Python and NumPy is saved with them. ``path`` is a directory with one
    file for each `save`; the ``keep`` latest files are kept (None: all). Files are written
    atomically. The constructor raises if the state of a part cannot be saved; `check` tests other
    values.

    >>> model = genesis.nn.Linear(2, 1)
    >>> checkpoint = Checkpoint("run", keep=2, model=model)
    >>> values = checkpoint.restore() or {"epoch": 0}
    >>> checkpoint.save(step=10, epoch=1)
    >>> Checkpoint("run", model=model).restore()
    {'epoch': 1, 'step': 10}
    """

    def __init__(self, path: str | os.PathLike[str], *, keep: int | None = 3, **parts: Any) -> None:
        if keep is not None and (type(keep) is not int or keep < 1):
            raise ValueError(f"Checkpoint: keep must be a positive int or None, got {keep!r}")
        taken = sorted(set(parts) & set(_RESERVED))
        if taken:
            raise ValueError(f"Checkpoint: the names {taken} are reserved; use others")
        self.path = os.fspath(path)
        self.keep = keep
        self.parts = {name: _Part.of(name, x) for name, x in parts.items()}
        check(self._state())

    def _state(self) -> dict[str, Any]:
        return {name: part.get() for name, part in self.parts.items()}

    def check(self, **values: Any) -> None:
        """Raise the error that `save` with these values would raise.

        Files hold tensors, NumPy's arrays and scalars, numbers, strings, paths and enums, and
        lists, tuples, sets, dicts, namespaces (`argparse`) and dataclasses of them.

        >>> Checkpoint("run").check(loss=0.5, callback=len)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        TypeError: save: the value at callback is a builtins.builtin_function_or_method, ...
        """
        check({**self._state(), **values})

    def steps(self) -> list[int]:
        """The saved steps, in the order in which they were saved.

        >>> Checkpoint("nothing").steps()
        []
        """
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        steps = sorted(int(found[1]) for found in map(_FILE.fullmatch, names) if found)
        return sorted(steps, key=self._serial)

    def _serial(self, step: int) -> int:
        """The number of earlier saves. It can differ from the order of steps, after a restore."""
        try:
            return int(read_metadata(self.file(step)).get("serial", "-1"))
        except (FileFormatError, ValueError):  # restore() reports the error
            return -1

    def file(self, step: int) -> str:
        """The path of the file for a step.

        >>> Checkpoint("run").file(7)
        'run/step-000000007.safetensors'
        """
        return os.path.join(self.path, f"step-{step:09d}.safetensors")

    def save(self, step: int, **values: Any) -> None:
        """Save the state after ``step``, and ``values``, which `restore` returns.

        >>> Checkpoint("run").save(3, best_loss=0.5)
        """
        if type(step) is not int or step < 0:
            raise ValueError(f"Checkpoint.save: step must be an int from 0, got {step!r}")
        state = self._state()
        state.update(step=step, random=random_state.capture(), values=values)
        os.makedirs(self.path, exist_ok=True)
        self._sweep()
        others = [s for s in self.steps() if s != step]
        serial = 1 + max(map(self._serial, self.steps()), default=0)
        save(state, self.file(step), metadata={"serial": str(serial)})
        if self.keep is not None:
            for old in others[: 1 - self.keep or None]:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.file(old))

    def _sweep(self) -> None:
        """Remove temporary files of runs that were killed during a save."""
        for name in os.listdir(self.path):
            if re.fullmatch(r"\.step-\d+\.safetensors\.[0-9a-f]+\.tmp", name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.path, name))

    def restore(self, step: int | None = None) -> dict[str, Any] | None:
        """Restore all parts and the random state from the latest ``save``, or that of ``step``.

        Returns a dict of the saved values and ``step``; None if nothing was saved yet.

        >>> Checkpoint("empty").restore() is None
        True
        """
        steps = self.steps()
        if step is None:
            if not steps:
                return None
            step = steps[-1]
        elif step not in steps:
            raise FileNotFoundError(
                f"Checkpoint.restore: {self.path} has no step {step}; there are {steps}"
            )
        state = load(self.file(step))
        self._check_parts(state, self.file(step))
        for name, part in self.parts.items():
            part.set(state[name])
        random_state.restore(state["random"])
        found: dict[str, Any] = {**state["values"], "step": step}
        return found

    def _check_parts(self, state: dict[str, Any], file: str) -> None:
        missing = sorted(set(self.parts) - set(state))
        unknown = sorted(set(state) - set(self.parts) - set(_RESERVED))
        if missing or unknown:
            raise ValueError(
                f"Checkpoint.restore: the parts of {file} differ: missing {missing}, unexpected "
                f"{unknown}; pass the same parts as when it was saved"
            )


@dataclass
class _Part:
    """The functions that get and set the state of a part."""

    get: Callable[[], Any]
    set: Callable[[Any], Any]

    @classmethod
    def of(cls, name: str, x: Any) -> _Part:
        for get, put in (("state_dict", "load_state_dict"), ("get_state", "set_state")):
            if callable(getattr(x, get, None)) and callable(getattr(x, put, None)):
                return cls(getattr(x, get), getattr(x, put))
        raise TypeError(
            f"Checkpoint: {name} is a {type(x).__name__}, which has neither state_dict() nor "
            "get_state(); pass values without state to save()"
        )
