"""The report of a run: one HTML file that needs nothing else, for wide and narrow screens."""

from __future__ import annotations

from html import escape
from typing import Any

import genesis
from genesis import debug
from genesis.cli import chart
from genesis.cli.console import duration, plural, show_value
from genesis.cli.environment import describe
from genesis.cli.task import Figure, Task
from genesis.cli.trainer import History

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
.grid{display:grid;gap:14px;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))}
section{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:16px;
min-width:0}
section.wide{grid-column:1/-1}
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


def report(task: Task, history: History) -> str:
    """The page. Afterwards the task's model is not what it was: steps of it are timed."""
    settings, last = task.settings, history.epochs[-1]
    pictures = [*_curves(history), *task.figures()]
    pictures += [_graph(task), _timing(task), _environment(task)]
    tiles = {task.goal: last[task.goal], **last}
    del tiles["seconds"]
    title = (
        f"{settings.task}: {task.goal.replace('_', ' ')} {show_value(task.goal, last[task.goal])}"
    )
    count = sum(p.numel() for p in task.model.parameters())
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{chart.STYLE}{_CSS}</style></head>
<body><main>
<h1>genesis train {escape(settings.task)}</h1>
<p class="soft">{escape(task.summary)} {count:,} parameters, {plural(len(history.epochs), "epoch")},
{plural(len(history.losses), "step")} in {duration(history.seconds)}.</p>
<div class="tiles">{"".join(_tile(name, value) for name, value in tiles.items())}</div>
<div class="grid">
{"".join(_section(picture) for picture in pictures)}
</div></main></body></html>
"""


def _tile(name: str, value: float) -> str:
    label = name.replace("_per_second", "/s").replace("_", " ")
    return (
        f'<div class="tile"><span class="soft">{escape(label)}</span>'
        f"<b>{show_value(name, value)}</b></div>"
    )


def _section(figure: Figure) -> str:
    caption = f"<p>{escape(figure.caption)}</p>" if figure.caption else ""
    wide = ' class="wide"' if figure.wide else ""
    return f"<section{wide}><h2>{escape(figure.title)}</h2>{figure.body}{caption}</section>\n"


def _curves(history: History) -> list[Figure]:
    steps, losses = chart.thinned(history.losses)
    found = [Figure("Loss of training", chart.curves({"loss": losses}, "step", x=steps, log=True))]
    names = [n for n in history.epochs[-1] if n not in ("seconds", "samples_per_second")]
    columns = {n: [e[n] for e in history.epochs] for n in names}
    for name in names:
        if name.startswith("test_"):
            continue
        both = {"training": columns[name]}
        if f"test_{name}" in columns:
            both["test"] = columns[f"test_{name}"]
        if name != "loss" or len(both) > 1:
            percent = name.endswith("accuracy")
            picture = chart.curves(both, "epoch", percent=percent, log=name == "loss")
            found.append(Figure(name.replace("_", " ").capitalize(), picture))
    for name in names:
        if name.startswith("test_") and name.removeprefix("test_") not in columns:
            picture = chart.curves(
                {name: columns[name]}, "epoch", percent=name.endswith("accuracy")
            )
            found.append(Figure(name.replace("_", " ").capitalize(), picture))
    return found


def _first_batch(task: Task) -> Any:
    return next(iter(task.loader))


def _graph(task: Task) -> Figure:
    batch = _first_batch(task)
    drawn = debug.graph(lambda: task.loss(batch)[0], names=task.model)
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
        wide=True,
    )


def _timing(task: Task) -> Figure:
    batch = _first_batch(task)
    task.step(batch)
    with genesis.profiler.profile() as profile:
        for _ in range(3):
            task.step(batch)
    events = [a for a in profile.key_averages() if a.kind in ("forward", "backward")]
    total = sum(a.self_cpu_time_total for a in events)
    events.sort(key=lambda a: -a.self_cpu_time_total)
    rows = "".join(
        f"<tr><td>{escape(a.key)}</td><td>{a.count / 3:,.0f}</td>"
        f"<td>{a.self_cpu_time_total / 3 / 1000:.3f}</td>"
        f"<td>{100 * a.self_cpu_time_total / total:.1f} %</td></tr>"
        for a in events[:14]
    )
    table = (
        '<div class="scroll"><table><tr><th>operation</th><th>calls</th><th>ms</th>'
        "<th>share</th></tr>"
        f"{rows}</table></div>"
    )
    return Figure("Where the time goes", table, "Of one step of training, measured after it ended.")


def _environment(task: Task) -> Figure:
    settings = task.settings
    pairs: dict[str, object] = {
        "epochs": settings.epochs, "seed": settings.seed, "precision": settings.precision,
        **settings.extra,
    }  # fmt: skip
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
