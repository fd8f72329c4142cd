"""What a training task is, and the trainer that drives it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import genesis
from genesis import Tensor, nn
from genesis.report import Figure, History
from genesis.training import Step, Trainer

if TYPE_CHECKING:
    from pathlib import Path

    from genesis._console import Console
    from genesis.cli.arguments import Parser


@dataclass(frozen=True)
class Settings:
    """All that decides how a run goes; ``extra`` are options of the task's own."""

    task: str
    epochs: int
    seed: int = 0
    precision: str = "float32"
    extra: dict[str, Any] = field(default_factory=dict)


class Rounds:
    """A number of rounds for tasks with generated data; resumes where it was saved.

    >>> rounds = Rounds(3)
    >>> list(rounds), list(rounds)
    ([0, 1, 2], [0, 1, 2])
    >>> rounds.load_state_dict({"done": 2})
    >>> list(rounds)
    [2]
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.done = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        while self.done < self.count:
            self.done += 1
            yield self.done - 1
        self.done = 0

    def state_dict(self) -> dict[str, int]:
        return {"done": self.done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.done = state["done"]


class Task:
    """One of the things that `genesis train` can train.

    A subclass sets ``model``, ``optimizer``, ``loader`` and, if it likes, ``schedule``, and defines
    `loss`. Random numbers are seeded before it is made.
    """

    summary: ClassVar[str]
    epochs: ClassVar[int]
    goal: ClassVar[str]  # the measure that sums up a run
    precisions: ClassVar[tuple[str, ...]] = ("float32", "bfloat16")
    options: ClassVar[dict[str, Any]] = {}  # its own, with their defaults

    model: nn.Module
    optimizer: Any
    loader: Any
    schedule: Any = None

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        """Additional options; their values are in ``settings.extra``."""

    def loss(self, batch: Any) -> tuple[Tensor, dict[str, float]]:
        """The loss of a batch, and measures to be averaged over an epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not define loss")

    def evaluate(self) -> dict[str, float]:
        """Measures after an epoch, of data that were not trained on."""
        return {}

    def figures(self) -> list[Figure]:
        """What the report shows besides curves."""
        return []

    def files(self) -> dict[str, str]:
        """Text files that the folder of the run gets at the end, by name."""
        return {}

    def closing(self) -> str:
        """What is printed at the end of a run."""
        return ""

    def samples(self, batch: Any) -> int:
        """How many samples the step had that was just done."""
        return len(batch[0])

    def precision(self) -> contextlib.AbstractContextManager[Any]:
        """Where the model is run."""
        if self.settings.precision == "float32":
            return contextlib.nullcontext()
        return genesis.autocast("cpu", genesis.bfloat16)


class TaskTrainer(Trainer):
    """Trains a task, with checkpoints in a folder."""

    def __init__(
        self, task: Task, directory: Path, console: Console, save_every: float = 2.0,
        resume: bool = True,
    ) -> None:  # fmt: skip
        self.task = task
        self.directory = directory
        super().__init__(
            task.model, optimizer=task.optimizer, schedule=task.schedule,
            precision=task.settings.precision, checkpoint=directory / "checkpoints",
            save_every=save_every, resume=resume, log=console,
        )  # fmt: skip

    def compute(self, batch: Any) -> Step:
        loss, measures = self.task.loss(batch)
        return Step(loss, measures=measures, size=self.task.samples(batch))

    def validate(self, data: Any) -> dict[str, float]:
        return self.task.evaluate()

    def settings(self) -> dict[str, Any]:
        own = self.task.settings
        facts = {"task": own.task, "out": str(self.directory), "seed": own.seed}
        return {**facts, **own.extra, **super().settings()}

    def train(self) -> History:
        """All epochs of the task."""
        return self.fit(self.task.loader, self.task.settings.epochs)
