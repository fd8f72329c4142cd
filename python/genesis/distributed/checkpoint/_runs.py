"""The checkpoints of a training run on several ranks."""

from __future__ import annotations

import functools
import os
import re
import shutil
from typing import Any

from genesis.distributed.checkpoint import _files
from genesis.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    load_numbered_state,
    numbered_state,
    set_model_state_dict,
)
from genesis.nn.modules.module import Module
from genesis.optim.optimizer import Optimizer
from genesis.utils import random_state
from genesis.utils.training import Checkpoint as _Single
from genesis.utils.training import _Part

_NAME = re.compile(r"step-(\d+)-(\d+)")
_LEFT_OVER = re.compile(r"\.step-\d+-\d+\.[0-9a-f]+\.(tmp|old)")


class Checkpoint(_Single):
    """`genesis.utils.training.Checkpoint` for a run on several ranks.

    All ranks call `save` and `restore`. Each writes a share, and a checkpoint is there whole or not
    at all. It can be restored on another number of ranks, also where models and optimizers are
    divided among ranks. The random state of each rank is kept;
    on another number of ranks all of them continue with that of rank 0.

    >>> model = genesis.nn.Linear(2, 1)
    >>> checkpoint = Checkpoint("job", keep=2, model=model)
    >>> checkpoint.save(step=10, epoch=1)
    >>> Checkpoint("job", model=model).restore()
    {'epoch': 1, 'step': 10}
    """

    def __init__(self, path: str | os.PathLike[str], *, keep: int | None = 3, **parts: Any) -> None:
        self._divided = {name for name, x in parts.items() if isinstance(x, (Module, Optimizer))}
        super().__init__(path, keep=keep, **parts)
        for name, x in parts.items():
            if isinstance(x, Module):
                self.parts[name] = _Part(
                    functools.partial(get_model_state_dict, x),
                    functools.partial(set_model_state_dict, x),
                )
            elif isinstance(x, Optimizer):
                self.parts[name] = _Part(
                    functools.partial(numbered_state, x), functools.partial(load_numbered_state, x)
                )

    def _state(self) -> dict[str, Any]:
        """What is checked before a save: the parts that one rank holds alone."""
        return {name: part.get() for name, part in self.parts.items() if name not in self._divided}

    def _found(self) -> list[tuple[int, int, str]]:
        """(serial, step, name) of the checkpoints, the latest saved last."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        matches = [m for m in map(_NAME.fullmatch, names) if m]
        return sorted((int(m[2]), int(m[1]), m[0]) for m in matches)

    def steps(self) -> list[int]:
        """The steps of which there are checkpoints, the latest saved last."""
        latest = {step: serial for serial, step, _ in self._found()}
        return sorted(latest, key=latest.__getitem__)

    def file(self, step: int) -> str:
        """The directory of the latest checkpoint of a step."""
        names = [name for _, s, name in self._found() if s == step]
        if not names:
            raise FileNotFoundError(
                f"Checkpoint: {self.path} has no step {step}; there are {self.steps()}"
            )
        return os.path.join(self.path, names[-1])

    def save(self, step: int, **values: Any) -> None:
        """Write the state after ``step``, and ``values`` (of rank 0) for `restore`."""
        if type(step) is not int or step < 0:
            raise ValueError(f"Checkpoint.save: step must be an int from 0, got {step!r}")
        rank, _ = _files._ranks()

        # Parts may communicate while they give their state, so this is not inside `together`.
        state = {name: part.get() for name, part in self.parts.items()}
        results = _files.together("Checkpoint.save", lambda: self._start(rank))
        serial = results[0][0]
        randoms = [random for _, random in results]
        state.update(step=step, random=randoms, values=values)
        name = f"step-{step:09d}-{serial:06d}"
        _files.save(state, os.path.join(self.path, name))
        if rank == 0:
            self._prune()

    def _start(self, rank: int) -> tuple[int | None, Any]:
        serial = None
        if rank == 0:
            os.makedirs(self.path, exist_ok=True)
            self._sweep()
            serial = 1 + max((s for s, _, _ in self._found()), default=0)
        return serial, random_state.capture()

    def _prune(self) -> None:
        """Remove all but the latest checkpoint of the latest steps."""
        found = self._found()
        kept = self.steps() if self.keep is None else self.steps()[-self.keep :]
        latest = {step: name for _, step, name in found if step in kept}
        for _, _, name in found:
            if name not in latest.values():
                self._remove(name)

    def _remove(self, name: str) -> None:
        """First under a name that is no checkpoint, so that half of one is never found."""
        path = os.path.join(self.path, name)
        away = os.path.join(self.path, f".{name}.0.old")
        try:
            os.rename(path, away)
        except FileNotFoundError:
            return
        shutil.rmtree(away, ignore_errors=True)

    def _sweep(self) -> None:
        for name in os.listdir(self.path):
            if _LEFT_OVER.fullmatch(name):
                shutil.rmtree(os.path.join(self.path, name), ignore_errors=True)

    def restore(self, step: int | None = None) -> dict[str, Any] | None:
        """Put all parts and the random state back to the latest `save`, or to that of ``step``."""
        rank, size = _files._ranks()
        chosen = _files.together("Checkpoint.restore", lambda: self._choose(step, rank))[0]
        if chosen is None:
            return None
        folder, number = chosen
        state = _files.read(folder)
        self._check_parts(state, folder)
        for name, part in self.parts.items():
            part.set(state[name])
        randoms = state["random"]
        random_state.restore(randoms[rank if len(randoms) == size else 0])
        found: dict[str, Any] = {**state["values"], "step": number}
        return found

    def _choose(self, step: int | None, rank: int) -> tuple[str, int] | None:
        if rank:
            return None
        if step is not None:
            return self.file(step), step
        found = self._found()
        return (os.path.join(self.path, found[-1][2]), found[-1][1]) if found else None
