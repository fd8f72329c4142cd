"""`genesis train`: every task runs, stops, goes on, and tells what it did."""

import json
import os
import re
import signal
import time

import genesis
import pytest
from genesis.cli import tasks, train, trainer
from genesis.cli.console import Console
from genesis.cli.task import Settings, Task

from tests.cli.command import run, start

pytestmark = pytest.mark.usefixtures("num_threads")

# what makes a task small enough for a test
SMALL = {"digits": ("--epochs", 1), "moons": ("--epochs", 2)}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def weights(out):
    return genesis.load(out / "model.safetensors")


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert genesis.equal(a[name], b[name]), name


@pytest.mark.parametrize("name", SMALL)
def test_a_task_runs_and_writes_what_it_promises(name, tmp_path):
    out = tmp_path / "run"
    done = run("train", name, *SMALL[name], "--out", out, "--threads", 1, "--json")
    assert done.status == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [e["event"] for e in events] == ["epoch"] * SMALL[name][1] + ["end"]
    assert events[-1]["loss"] == events[-1]["loss"]  # a number
    assert tasks.find(name).goal in events[-1]
    history = json.loads((out / "history.json").read_text())
    assert len(history["epochs"]) == SMALL[name][1]
    assert weights(out)
    page = (out / "report.html").read_text()
    assert "Computation graph" in page
    assert "Where the time goes" in page
    # self-contained: nothing is fetched from anywhere
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)
    assert "url(" not in page.replace("url(#", "")
    assert "nan" not in re.findall(r"[a-z]+", page.lower())


def test_every_task_is_tested_and_says_what_it_is():
    assert SMALL.keys() == tasks.SUMMARIES.keys()
    for name in tasks.SUMMARIES:
        kind = tasks.find(name)
        assert issubclass(kind, Task)
        assert kind.epochs > 0


def stop_after(monkeypatch, step):
    """The process gets a Ctrl-C in that step of the run."""
    original = Task.step
    count = 0

    def wrapped(self, batch):
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, batch)

    monkeypatch.setattr(Task, "step", wrapped)


@pytest.mark.parametrize("name", SMALL)
def test_a_run_that_was_stopped_ends_as_one_that_was_not(name, monkeypatch, tmp_path):
    options = ("train", name, *SMALL[name], "--threads", 1, "--out")
    assert run(*options, tmp_path / "whole").status == 0
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        stopped = run(*options, tmp_path / "broken")
    assert stopped.status == 130
    assert "--resume" in stopped.out
    assert not (tmp_path / "broken" / "model.safetensors").exists()
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert run("train", name, "--resume", "--out", tmp_path / "broken").status == 130
    done = run("train", name, "--resume", "--out", tmp_path / "broken")
    assert done.status == 0, done.err
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "broken"))
    whole, broken = (
        json.loads((tmp_path / d / "history.json").read_text()) for d in ("whole", "broken")
    )
    assert whole["losses"] == broken["losses"]
    for a, b in zip(whole["epochs"], broken["epochs"], strict=True):
        for measured in ("seconds", "samples_per_second"):
            del a[measured], b[measured]
        assert a == b


def test_a_run_that_was_killed_goes_on(tmp_path):
    options = ("train", "moons", "--threads", 1, "--epochs", 30, "--out")
    assert run(*options, tmp_path / "whole").status == 0
    process = start(*options, tmp_path / "killed", "--save-every", 0)
    checkpoints = tmp_path / "killed" / "checkpoints"
    while not (checkpoints.is_dir() and len(list(checkpoints.glob("step-*"))) >= 2):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = run("train", "moons", "--resume", "--out", tmp_path / "killed")
    assert "going on after epoch" in done.out
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


def test_a_checkpoint_in_the_middle_of_an_epoch(tmp_path):
    settings = Settings("moons", epochs=2)

    def fresh(directory, **options):
        genesis.manual_seed(0)
        return trainer.Trainer(tasks.find("moons")(settings), directory, Console(True), **options)

    whole = fresh(tmp_path / "a").run()
    every_step = fresh(tmp_path / "b", save_every=0.0)
    every_step.run()
    again = fresh(tmp_path / "b")
    again.checkpoint.restore(39)
    steps = again.checkpoint.steps()
    assert steps[-1] == 40
    os.unlink(again.checkpoint.file(40))
    assert again.resume()
    assert again.run().losses == whole.losses


def test_the_seed_decides_and_threads_do_not(tmp_path):
    for name, options in {"a": ("--threads", 1), "b": ("--threads", 3), "c": ("--seed", 5)}.items():
        assert run("train", "moons", "--epochs", 1, "--out", name, *options).status == 0
    a, b, c = (weights(tmp_path / name) for name in "abc")
    assert_same(a, b)
    assert not genesis.equal(a["0.weight"], c["0.weight"])


def test_folders_of_runs_are_not_overwritten(tmp_path):
    small = ("train", "moons", "--epochs", 1)
    assert run(*small).status == 0
    assert run(*small).status == 0
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == ["moons", "moons-2"]
    again = run(*small, "--out", "runs/moons")
    assert again.status == 2
    assert "--resume" in again.err
    longer = run("train", "moons", "--resume", "--epochs", 2)  # the latest, made longer
    assert "runs/moons-2" in longer.out
    assert "going on after epoch 1" in longer.out
    assert len(json.loads((tmp_path / "runs/moons-2/history.json").read_text())["epochs"]) == 2
    other = run("train", "moons", "--resume", "--seed", 3)
    assert other.status == 2
    assert "--seed 0" in other.err
    assert "holds a run of moons" in run("train", "digits", "--resume", "--out", "runs/moons").err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("digit",), "did you mean digits?"),
        (("tea",), "moons"),
        (("--epochs", 3, "digits"), "the task comes first"),
        (("moons", "--epochs", "many"), "expected a whole number from 1, got 'many'"),
        (("moons", "--epochs", 0), "expected a whole number from 1, got '0'"),
        (("moons", "--speed", 3), "--speed"),
        (("moons", "--precision", "int8"), "float32"),
        (("moons", "--resume"), "there is no run of moons"),
        (("moons", "--resume", "--out", "none"), "there is no run in none"),
    ],
)
def test_mistakes_are_told_with_the_way_out(arguments, expected):
    done = run("train", *arguments)
    assert done.status == 2
    assert expected in done.err
    assert "Traceback" not in done.err


def test_piped_output_is_plain(tmp_path):
    process = start("train", "moons", "--epochs", 2, cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "\x1b" not in out + err
    assert "\r" not in out
    assert len([line for line in out.splitlines() if line.startswith("epoch")]) == 2


def test_a_terminal_gets_a_bar_and_colours(tmp_path):
    pytest.importorskip("rich")
    import pty

    leader, follower = pty.openpty()
    process = start(
        "train",
        "moons",
        "--epochs",
        3,
        cwd=tmp_path,
        stdout=follower,
        stderr=follower,
        TERM="xterm",
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    assert process.wait(60) == 0
    assert b"\x1b[" in seen
    assert b"test accuracy" in seen


def test_a_second_signal_stops_at_once():
    with trainer._Signals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.number == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_help_lists_the_tasks():
    done = run("train", "--help")
    assert done.status == 0
    for name in tasks.SUMMARIES:
        assert name in done.out
    assert train.main([]) == 2
