"""The page of a report: one HTML file that needs nothing else, for wide and narrow screens."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from genesis.report import chart
from genesis.report._format import duration, is_share, label, plural, show_value
from genesis.report._history import History

if TYPE_CHECKING:
    from genesis._C import Tensor
    from genesis.nn import Module

_CSS = """
:root{color-scheme:light dark;--paper:#f6f7f9;--card:#fff;--ink:#1c2430;--soft:#5a6472;
--edge:#e3e6eb}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--card:#1b2129;--ink:#e6eaf0;
--soft:#9aa5b4;--edge:#2b323d}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:1.7rem;margin:0 0 4px}h2{font-size:1.05rem;margin:0 0 10px}p{margin:0 0 8px}
.soft{color:var(--soft)}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}
.tile{flex:1 1 130px;background:var(--card);border:1px solid var(--edge);border-radius:10px;
padding:10px 14px}
.tile b{display:block;font-size:1.35rem;line-height:1.3;white-space:nowrap}
.columns{columns:2 420px;column-gap:14px;margin:0 0 14px}
section{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:16px;
min-width:0;margin:0 0 14px;break-inside:avoid}
section>p{font-size:.88rem;color:var(--soft);margin:10px 0 0}
svg.chart{width:100%;height:auto;display:block;max-width:640px;margin:0 auto}
.scroll{overflow-x:auto}
.scroll>svg{display:block;margin:0 auto}
table{border-collapse:collapse;font-size:.86rem;width:100%}
td,th{text-align:right;padding:4px 8px;border-bottom:1px solid var(--edge);white-space:nowrap}
td:first-child,th:first-child{text-align:left}
.pairs td{text-align:left;white-space:normal;overflow-wrap:anywhere}
.pairs td:first-child{color:var(--soft);white-space:nowrap}
@media (max-width:480px){td,th{padding:4px}section{padding:12px}}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;margin:0}
"""


@dataclass(frozen=True)
class Figure:
    """A part of a report: HTML or SVG under a title, and a sentence that describes it."""

    title: str
    body: str
    caption: str = ""
    wide: bool = False


class Report:
    """Collects measures and figures of a training loop and writes them as one HTML file.

    ``goal`` names the measure that sums up the run; ``settings`` are listed beside the environment.
    Call `step` after every step, `epoch` after every epoch, and `save` at the end.

    >>> report = Report("spirals", goal="accuracy", settings={"lr": 0.1})
    >>> for epoch in range(3):
    ...     for step in range(10):
    ...         report.step(loss=1 / (1 + epoch + step))
    ...     report.epoch(loss=1 / (1 + epoch), accuracy=0.5 + 0.2 * epoch)
    >>> report.save("report.html")
    >>> report.history["accuracy"][-1]
    0.9
    """

    def __init__(
        self,
        title: str,
        summary: str = "",
        *,
        goal: str | None = None,
        settings: Mapping[str, Any] | None = None,
        history: History | None = None,
    ) -> None:
        self.title = title
        self.summary = summary
        self.goal = goal
        self.settings = dict(settings or {})
        self.history = History() if history is None else history
        self.figures: list[Figure] = []
        self._parameters: int | None = None

    def step(self, loss: float | Tensor, **values: float | Tensor) -> None:
        """Record the loss of a step, and any other values by name; each gets a curve."""
        self.history.losses.append(float(loss))
        for name, value in values.items():
            self.history.steps.setdefault(name, []).append(float(value))

    def epoch(self, **measures: float | Tensor) -> None:
        """Record the measures of an epoch. "val_" or "test_" before a name marks other data."""
        self.history.epochs.append({name: float(value) for name, value in measures.items()})

    def figure(self, title: str, body: str, caption: str = "", wide: bool = False) -> None:
        """Add a figure: SVG from `chart` or `picture`, or any HTML."""
        self.figures.append(Figure(title, body, caption, wide))

    def graph(self, loss: Callable[[], Tensor], model: Module) -> None:
        """Add the computation graph of ``loss()``, with the names of the model's parameters."""
        self._parameters = sum(p.numel() for p in model.parameters())
        self.figures.append(_graph(loss, model))

    def timing(self, step: Callable[[], object], repeat: int = 3) -> None:
        """Add a table of the operations on which ``step()`` spends its time. It is run
        ``repeat`` times and once more before."""
        self.figures.append(_timing(step, repeat))

    def html(self) -> str:
        """The page as text."""
        history = self.history
        last = dict(history.epochs[-1]) if history.epochs else {}
        last.pop("seconds", None)
        pictures = [*_curves(history), *self.figures, _environment(self.settings)]
        tiles, title = last, self.title
        if self.goal is not None and self.goal in last:
            tiles = {self.goal: last[self.goal], **last}
            title += f": {label(self.goal)} {show_value(self.goal, last[self.goal])}"
        facts = [plural(len(history.epochs), "epoch"), plural(len(history.losses), "step")]
        if self._parameters is not None:
            facts.insert(0, plural(self._parameters, "parameter"))
        took = f" in {duration(history.seconds)}" if history.seconds else ""
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{chart.STYLE}{_CSS}</style></head>
<body><main>
<h1>{escape(self.title)}</h1>
<p class="soft">{escape(self.summary)} {", ".join(facts)}{took}.</p>
<div class="tiles">{"".join(_tile(name, value) for name, value in tiles.items())}</div>
<div class="columns">
{"".join(_section(picture) for picture in pictures if not picture.wide)}
</div>
{"".join(_section(picture) for picture in pictures if picture.wide)}
</main></body></html>
"""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page. If the process is killed meanwhile, an older file stays intact."""
        from genesis.serialization.atomic import replacing

        with replacing(os.fspath(path)) as file:
            file.write(self.html().encode())


def _tile(name: str, value: float) -> str:
    return (
        f'<div class="tile"><span class="soft">{escape(label(name))}</span>'
        f"<b>{show_value(name, value)}</b></div>"
    )


def _section(figure: Figure) -> str:
    caption = f"<p>{escape(figure.caption)}</p>" if figure.caption else ""
    return f"<section><h2>{escape(figure.title)}</h2>{figure.body}{caption}</section>\n"


_PARTNERS = {"val_": "validation", "test_": "test"}  # prefix of a measure: name of its curve


def _curves(history: History) -> list[Figure]:
    """The curves over steps, then one chart for each measure with its partner on other data."""
    found = []
    if history.losses:
        at, losses = chart.thinned(history.losses)
        found.append(
            Figure("Training loss", chart.curves({"loss": losses}, "step", x=at, log=True))
        )
    for name, values in history.steps.items():
        at, values = chart.thinned(values)
        found.append(Figure(_title(name), chart.curves({name: values}, "step", x=at)))
    names = list(dict.fromkeys(n for e in history.epochs for n in e))
    names = [n for n in names if n not in ("seconds", "samples_per_second")]
    columns = {n: [e.get(n, float("nan")) for e in history.epochs] for n in names}
    partners = {p + n for n in names for p in _PARTNERS if p + n in columns}
    for name in (n for n in names if n not in partners):
        lines = {"training": columns[name]}
        lines |= {word: columns[p + name] for p, word in _PARTNERS.items() if p + name in columns}
        if len(lines) == 1:
            if name == "loss" and history.losses:
                continue  # shown above, step by step
            lines = {label(name): columns[name]}
        picture = chart.curves(lines, "epoch", percent=is_share(name), log=name == "loss")
        found.append(Figure(_title(name), picture))
    return found


def _title(name: str) -> str:
    text = label(name)
    return text[:1].upper() + text[1:]


def _graph(loss: Callable[[], Tensor], model: Module) -> Figure:
    from genesis import debug

    drawn = debug.graph(loss, names=model)
    picture = drawn.svg()
    # A wide one shrinks to the page as far as its words can be read; then it scrolls.
    width = int(picture.split('width="', 1)[1].split('"', 1)[0])
    least = f"min-width:{min(width, max(480, 0.65 * width)):.0f}px"
    style = f"{least};max-width:{width}px;width:100%;height:auto"
    styled = picture.replace("<svg ", f'<svg style="{style}" ', 1)
    caption = (
        "The operations of one loss, from parameters to the value that is differentiated; "
        f"they keep {drawn.saved_bytes / 1024:,.0f} KB for the gradients."
    )
    return Figure(
        "Computation graph",
        f'<div class="scroll">{styled}</div>',
        caption,
        wide=width > 560,  # a narrow one fills a column
    )


def _timing(step: Callable[[], object], repeat: int) -> Figure:
    from genesis import profiler

    step()
    with profiler.profile() as profile:
        for _ in range(repeat):
            step()
    events = [a for a in profile.key_averages() if a.kind in ("forward", "backward")]
    total = sum(a.self_cpu_time_total for a in events)
    events.sort(key=lambda a: -a.self_cpu_time_total)
    rows = "".join(
        f"<tr><td>{escape(a.key)}</td><td>{a.count / repeat:,.0f}</td>"
        f"<td>{a.self_cpu_time_total / repeat / 1000:.3f}</td>"
        f"<td>{100 * a.self_cpu_time_total / max(total, 1e-12):.1f} %</td></tr>"
        for a in events[:14]
    )
    table = (
        '<div class="scroll"><table><tr><th>operation</th><th>calls</th><th>ms</th>'
        "<th>share</th></tr>"
        f"{rows}</table></div>"
    )
    return Figure("Where the time goes", table, "Of one training step.")


def _setting(value: Any) -> str:
    """A setting as text; for a dict, the settings that are not off."""
    if isinstance(value, Mapping):
        return ", ".join(f"{label(k)} {v}" for k, v in value.items() if v is not False)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def _environment(settings: Mapping[str, Any]) -> Figure:
    from genesis._environment import describe

    pairs: dict[str, Any] = {label(k): _setting(v) for k, v in settings.items() if v is not None}
    here = describe()
    pairs["genesis"] = here["genesis"]["version"]
    pairs |= {k: here["genesis"][k] for k in ("kernels in use", "LAPACK")}
    pairs["processor"] = here["processor"].pop("name")
    pairs |= here["processor"]
    pairs["memory"] = here["memory"]["total"]
    pairs |= {k: here["python"][k] for k in ("python", "system", "numpy")}
    rows = "".join(
        f"<tr><td>{escape(str(k))}</td><td>{escape(str(v))}</td></tr>" for k, v in pairs.items()
    )
    return Figure("Settings and environment", f'<table class="pairs">{rows}</table>')
