"""What a training task is: the trainer drives it, the report shows it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import genesis
from genesis import Tensor, nn
from genesis.report import Figure

if TYPE_CHECKING:
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
    """A number of rounds for tasks whose data are made on the spot; goes on where it was saved.

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

    model: nn.Module
    optimizer: Any
    loader: Any
    schedule: Any = None

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        """Options of its own; their values come as ``settings.extra``."""

    def loss(self, batch: Any) -> tuple[Tensor, dict[str, float]]:
        """The loss of a batch, and measures to be averaged over an epoch."""
        raise NotImplementedError(f"{type(self).__name__} does not define loss")

    def evaluate(self) -> dict[str, float]:
        """Measures after an epoch, of data that were not trained on."""
        return {}

    def figures(self) -> list[Figure]:
        """What the report shows besides curves."""
        return []

    def closing(self) -> str:
        """What is printed at the end of a run."""
        return ""

    def samples(self, batch: Any) -> int:
        """How many samples the step had that was just done."""
        return len(batch[0])

    def parts(self) -> dict[str, Any]:
        """What has a state that a checkpoint must keep."""
        parts = {"model": self.model, "optimizer": self.optimizer, "loader": self.loader}
        return parts if self.schedule is None else {**parts, "schedule": self.schedule}

    def precision(self) -> contextlib.AbstractContextManager[Any]:
        """Where the model is run."""
        if self.settings.precision == "float32":
            return contextlib.nullcontext()
        return genesis.autocast("cpu", genesis.bfloat16)

    def step(self, batch: Any) -> dict[str, float]:
        """One update of the model."""
        with self.precision():
            loss, measures = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        return {"loss": loss.item(), **measures}


def warmup_cosine(total: int, warmup: int = 20) -> Any:
    """A factor for learning rates: up over ``warmup`` steps, then down along a cosine.

    >>> factor = warmup_cosine(100)
    >>> factor(0), round(factor(20), 2), round(factor(60), 2), round(factor(100), 2)
    (0.05, 1.0, 0.51, 0.01)
    """
    import math

    def factor(step: int) -> float:
        rest = max(0.0, min(1.0, (step - warmup) / max(1, total - warmup)))
        return min(1.0, (step + 1) / warmup) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * rest)))

    return factor
