"""Checkpoints of training runs: everything that determines how a run continues, in one file."""

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
    """Saves and restores a training run, so that a killed run ends as an unbroken one, bit for bit.

    ``parts`` are what has a state: model, optimizer, scheduler, scaler, loader, generators;
    anything with ``state_dict`` and ``load_state_dict``, or ``get_state`` and ``set_state``. The
    random state of Genesis, Python and NumPy goes with them. ``path`` is a directory with one file
    for each `save`, of which the ``keep`` latest stay (None: all). A file is there whole or not at
    all. Whether the states of the parts can be saved is tried at once; `check` tries other values.

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
            raise ValueError(f"Checkpoint: the names {taken} are taken; choose others")
        self.path = os.fspath(path)
        self.keep = keep
        self.parts = {name: _Part.of(name, x) for name, x in parts.items()}
        check(self._state())

    def _state(self) -> dict[str, Any]:
        return {name: part.get() for name, part in self.parts.items()}

    def check(self, **values: Any) -> None:
        """Raise now what `save` with these values would raise after an epoch.

        Files hold tensors, NumPy's arrays and scalars, numbers, strings, paths and enums, and
        lists, tuples, sets, dicts, namespaces (`argparse`) and dataclasses of them.

        >>> Checkpoint("run").check(loss=0.5, callback=len)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        TypeError: save: the value at callback is a builtins.builtin_function_or_method, ...
        """
        check({**self._state(), **values})

    def steps(self) -> list[int]:
        """The steps of which there are files, the latest saved last.

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
        """How many saves there were before: after going back to an old step, it differs from the
        order of the steps."""
        try:
            return int(read_metadata(self.file(step)).get("serial", "-1"))
        except (FileFormatError, ValueError):  # restore() reports what is wrong with it
            return -1

    def file(self, step: int) -> str:
        """The path of the file of a step.

        >>> Checkpoint("run").file(7)
        'run/step-000000007.safetensors'
        """
        return os.path.join(self.path, f"step-{step:09d}.safetensors")

    def save(self, step: int, **values: Any) -> None:
        """Write the state after ``step``, and ``values`` to be returned by `restore`.

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
        """Remove what runs that were killed in the middle of a save left behind."""
        for name in os.listdir(self.path):
            if re.fullmatch(r"\.step-\d+\.safetensors\.[0-9a-f]+\.tmp", name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.path, name))

    def restore(self, step: int | None = None) -> dict[str, Any] | None:
        """Put all parts and the random state back to the latest ``save``, or to that of ``step``.

        Returns the values that were saved, with ``step`` among them; None if nothing was saved yet.

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
                f"Checkpoint.restore: {file} does not fit: it lacks {missing} and has "
                f"{unknown} besides; pass the same parts as when it was saved"
            )


@dataclass
class _Part:
    """How the state of a part is had and put back."""

    get: Callable[[], Any]
    set: Callable[[Any], Any]

    @classmethod
    def of(cls, name: str, x: Any) -> _Part:
        for get, put in (("state_dict", "load_state_dict"), ("get_state", "set_state")):
            if callable(getattr(x, get, None)) and callable(getattr(x, put, None)):
                return cls(getattr(x, get), getattr(x, put))
        raise TypeError(
            f"Checkpoint: {name} is a {type(x).__name__}, which has neither state_dict() nor "
            "get_state(); pass plain values to save()"
        )
