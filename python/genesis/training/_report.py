"""The report of a run: history, tables of metrics, the graph and the times of one step."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from genesis.report import Report, picture
from genesis.report._format import label
from genesis.utils import random_state

if TYPE_CHECKING:
    from genesis.training._trainer import Trainer


def make_report(trainer: Trainer, title: str, summary: str, goal: str | None) -> Report:
    """What `Trainer.report` returns."""
    if goal is None and trainer.history.epochs:
        goal = next((n for n in trainer.history.epochs[-1] if n.startswith("val_")), "loss")
    report = Report(
        title or type(trainer.model).__name__, summary, goal=goal, settings=trainer.settings(),
        history=trainer.history,
    )  # fmt: skip
    for name, table in trainer.tables.items():
        if table.is_floating_point():  # normalised, which has no counts to show
            continue
        names = [str(i) for i in range(len(table))]
        caption = label(name)[:1].upper() + label(name)[1:]
        note = "Counts by true class (rows) and predicted class (columns)."
        report.figure(caption, picture.confusion(table.long().tolist(), names), note)
    if trainer.loader is not None:
        with _restored(trainer):
            batch = next(iter(trainer.loader))
            report.graph(lambda: trainer.compute(batch).loss, trainer.model)
            report.timing(lambda: _step(trainer, batch))
    return report


def _step(trainer: Trainer, batch: Any) -> None:
    """A training step; `_restored` undoes it."""
    with trainer.autocast():
        loss = trainer.compute(batch).loss
    loss.backward()
    trainer.optimizer.step()
    trainer.optimizer.zero_grad()


@contextlib.contextmanager
def _restored(trainer: Trainer) -> Iterator[None]:
    """Restore model, optimizer, loader and random state at the end of the block."""
    parts = [trainer.model, trainer.optimizer]
    parts += [trainer.loader] if hasattr(trainer.loader, "state_dict") else []
    states = [copy.deepcopy(part.state_dict()) for part in parts]
    random, network = random_state.capture(), trainer._network
    trainer._network = trainer.model  # the other ranks take no part
    try:
        yield
    finally:
        trainer._network = network
        for part, state in zip(parts, states, strict=True):
            part.load_state_dict(state)
        random_state.restore(random)
