"""The record of a training run."""

from __future__ import annotations

from dataclasses import dataclass, field

from genesis.report import chart


@dataclass
class History:
    """What was measured during training.

    ``losses`` has the loss of every step, ``epochs`` a dict of measures for every epoch, and
    ``steps`` other values of every step by their names.

    >>> history = History([2.0, 1.0], [{"loss": 1.5, "val_loss": 1.2}])
    >>> history["val_loss"], history.last("loss")
    ([1.2], 1.5)
    """

    losses: list[float] = field(default_factory=list)
    epochs: list[dict[str, float]] = field(default_factory=list)
    steps: dict[str, list[float]] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The time that was spent on training, without validation."""
        return sum(e.get("seconds", 0.0) for e in self.epochs)

    def __len__(self) -> int:
        return len(self.epochs)

    def __getitem__(self, name: str) -> list[float]:
        """The values of a measure, one for each epoch that has it."""
        found = [e[name] for e in self.epochs if name in e]
        if not found:
            known = sorted({n for e in self.epochs for n in e})
            raise KeyError(f"History has no measure {name!r}; it has {known}")
        return found

    def last(self, name: str) -> float:
        """The latest value of a measure."""
        return self[name][-1]

    def best(self, name: str, mode: str = "min") -> float:
        """The lowest value of a measure, or with ``mode="max"`` the highest."""
        return (min if mode == "min" else max)(self[name])

    def _repr_html_(self) -> str:
        from genesis._notebook import table_html

        if not self.losses and not self.epochs:
            return "<div>nothing yet</div>"
        curve = ""
        if self.losses:
            at, losses = chart.thinned(self.losses)
            curve = chart.standalone(chart.curves({"loss": losses}, "step", x=at, log=True))
        names = list(self.epochs[-1]) if self.epochs else []
        rows = [
            [f"{i}", *(f"{e[n]:.4g}" if n in e else "" for n in names)]
            for i, e in enumerate(self.epochs, 1)
        ]
        table = table_html([["epoch", *names], *rows[-10:]]) if rows else ""
        return f"<div>{curve}{table}</div>"
