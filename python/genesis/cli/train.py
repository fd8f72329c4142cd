"""`genesis train`: a task, its options, and the folder of its run."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import genesis
from genesis._console import Console
from genesis.cli import tasks
from genesis.cli.arguments import Failure, Parser, nearest, number
from genesis.cli.task import Settings, Task, TaskTrainer
from genesis.distributed._environment import position
from genesis.report._format import duration, plural, show
from genesis.serialization.atomic import replacing
from genesis.training import Interrupted

_NOT_SETTINGS = ("out", "resume", "save_every", "threads", "json")


def _listing() -> str:
    return "\n".join(f"  {name:10} {text}" for name, text in tasks.SUMMARIES.items())


def main(arguments: list[str]) -> int:
    """Train a task; the first argument is its name."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"usage: genesis train TASK [options]\n\n{_listing()}\n\n"
              "`genesis train TASK --help` lists the options. A run is saved as it goes; Ctrl-C\n"
              "stops it, and --resume continues it.")  # fmt: skip
        return 0 if arguments else 2
    name = arguments[0]
    if name.startswith("-"):
        task = next((word for word in arguments if word in tasks.SUMMARIES), "TASK")
        rest = shlex.join(word for word in arguments if word != task)
        raise Failure(f"genesis train: the task comes first: genesis train {task} {rest}")
    if name not in tasks.SUMMARIES:
        hint = nearest(name, tasks.SUMMARIES)
        raise Failure(f"genesis train: there is no task {name!r}{hint}\n{_listing()}")
    if position().size > 1:
        raise Failure(
            "genesis train: it trains in one process; to train on several ranks, call genesis.fit "
            "in a script of your own and start it with genesis run"
        )
    kind = tasks.find(name)
    options = _parser(name, kind).parse_args(arguments[1:])
    if options.threads is not None:
        genesis.set_num_threads(options.threads)
    console = Console(options.json)
    directory = _directory(name, options.out, options.resume)
    settings = _settings(name, kind, options, directory)
    return _train(kind, settings, directory, console, options.save_every, options.resume)


def _parser(name: str, kind: type[Task]) -> Parser:
    parser = Parser(f"genesis train {name}", kind.summary, argument_default=argparse.SUPPRESS)
    add = parser.add_argument
    add("--epochs", type=number(1), metavar="N", help=f"passes over the data ({kind.epochs})")
    add("--seed", type=number(0), metavar="N", help="seed of the random numbers (0)")
    add("--precision", choices=kind.precisions, help="dtype of products and convolutions (float32)")
    kind.add_arguments(parser)
    add("--threads", type=number(1), metavar="N", default=None,
        help=f"results do not depend on the number ({genesis.get_num_threads()})")  # fmt: skip
    add("--out", type=Path, metavar="DIR", default=None,
        help=f"folder of the run: model, measures, report (runs/{name})")  # fmt: skip
    add("--save-every", type=number(0), metavar="SECONDS", default=2,
        help="time between checkpoints (2); 0 saves every step")  # fmt: skip
    add("--resume", action="store_true", default=False, help="continue a run that was stopped")
    add("--json", action="store_true", default=False, help="one JSON object per line, for programs")
    return parser


def _directory(name: str, out: Path | None, resume: bool) -> Path:
    """Where the run is or goes: a folder that has none yet, or with --resume one that has."""
    if out is not None:
        found = (out / "run.json").exists()
        if resume and not found:
            raise Failure(f"genesis train: --resume: there is no run in {out}; leave --resume out")
        if found and not resume:
            raise Failure(
                f"genesis train: {out} holds a run already; add --resume to go on with it, "
                "or choose another --out"
            )
        return out
    runs = Path("runs")
    pattern = re.compile(rf"{name}(?:-(\d+))?")
    matches = [pattern.fullmatch(p.parent.name) for p in runs.glob("*/run.json")]
    numbers = sorted(int(m[1] or 1) for m in matches if m)
    if resume and not numbers:
        raise Failure(
            f"genesis train: --resume: there is no run of {name} in {runs}/; name its --out"
        )
    last = numbers[-1] if numbers else 0
    this = last if resume else last + 1
    return runs / (name if this == 1 else f"{name}-{this}")


def _settings(
    name: str, kind: type[Task], options: argparse.Namespace, directory: Path
) -> Settings:
    given = {k: v for k, v in vars(options).items() if k not in _NOT_SETTINGS}
    if options.resume:
        saved = _saved(directory / "run.json")
        if saved["task"] != name:
            raise Failure(
                f"genesis train: {directory} holds a run of {saved['task']}, not of {name}"
            )
        saved["extra"] = {**kind.options, **saved["extra"]}
        was = {**saved, **saved["extra"]}
        for key, value in given.items():
            if key != "epochs" and value != was[key]:
                raise Failure(
                    f"genesis train: {directory} was begun with --{key} {was[key]}; it cannot go "
                    f"on with {value}. Leave --{key} out, or begin a new run without --resume"
                )
        settings = Settings(**saved)
        if "epochs" in given:  # a run may become longer
            settings = dataclasses.replace(settings, epochs=given["epochs"])
    else:
        known = {f.name for f in dataclasses.fields(Settings)}
        extra = {**kind.options, **{k: v for k, v in given.items() if k not in known}}
        known_given = {k: v for k, v in given.items() if k in known}
        settings = Settings(name, **{"epochs": kind.epochs, **known_given}, extra=extra)
    return settings


def _saved(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
        Settings(**found)
    except (ValueError, TypeError) as error:
        raise Failure(
            f"genesis train: --resume: {path} is damaged ({error}); begin anew without --resume"
        ) from None
    return found


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


def _train(
    kind: type[Task], settings: Settings, directory: Path, console: Console, save_every: float,
    resume: bool,
) -> int:  # fmt: skip
    name = settings.task
    genesis.manual_seed(settings.seed)
    task = kind(settings)
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / "run.json", json.dumps(dataclasses.asdict(settings), indent=1))
    trainer = TaskTrainer(task, directory, console, save_every, resume)
    count = sum(p.numel() for p in task.model.parameters())
    summary = textwrap.fill(kind.summary, 80)
    console.line(f"{summary}\n{count:,} parameters, {plural(settings.epochs, 'epoch')}, "
                 f"{plural(genesis.get_num_threads(), 'thread')}, {settings.precision}; "
                 f"in {directory}", "dim")  # fmt: skip
    again = f"genesis train {name} --resume --out {shlex.quote(os.fspath(directory))}"
    try:
        history = trainer.train()
    except Interrupted as stop:
        console.line(f"stopped at {stop.where} and saved. Go on with\n  {again}", "yellow")
        console.data({"event": "stopped", "at": stop.where, "resume": again})
        return stop.status
    except KeyboardInterrupt:
        console.line(f"\nstopped at once; saved up to the last checkpoint. Go on with\n  {again}")
        return 130

    last = history.epochs[-1]
    genesis.save(task.model.state_dict(), directory / "model.safetensors")
    _write(directory / "history.json", json.dumps(dataclasses.asdict(history)))
    closing = task.closing()
    if closing:
        console.line(f"\n{closing}\n")
    for file, text in task.files().items():
        _write(directory / file, text)
    report = trainer.report(f"genesis train {name}", task.summary, task.goal)
    report.figures[:0] = task.figures()
    report.save(directory / "report.html")
    console.line(
        f"{name}: {show(kind.goal, last[kind.goal])} after {plural(trainer.epoch, 'epoch')} "
        f"in {duration(history.seconds)}", "bold green",
    )  # fmt: skip
    console.line(f"  weights  {directory / 'model.safetensors'}")
    console.line(f"  report   {(directory / 'report.html').resolve().as_uri()}")
    console.data(
        {
            "event": "end",
            "task": name,
            **last,
            "seconds": history.seconds,
            "out": os.fspath(directory),
        }
    )
    return 0
