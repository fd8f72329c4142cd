"""`genesis train`: every task runs, stops, goes on, and tells what it did."""

import importlib
import json
import os
import re
import signal
import time

import genesis
import pytest
from genesis._console import Console
from genesis.cli import tasks, train
from genesis.cli.task import Settings, Task, TaskTrainer
from genesis.cli.tasks import pinn
from genesis.training import Trainer
from genesis.training._signals import Signals

from tests.cli.command import run, start

pytestmark = pytest.mark.usefixtures("num_threads")

# what makes a task small enough for a test
SMALL = {
    "digits": ("--epochs", 1),
    "gpt": ("--epochs", 1, "--sample", 20, "--width", 32),
    "moons": ("--epochs", 2),
    "vae": ("--epochs", 1),
    "pinn": ("--epochs", 1),
    "cartpole": ("--epochs", 1),
}


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    for name in ("gpt", "pinn", "cartpole"):
        module = importlib.import_module(f"genesis.cli.tasks.{name}")
        monkeypatch.setattr(module, "ROUNDS", 6)
    monkeypatch.setattr("genesis.cli.tasks.gpt.BATCH", 2)
    monkeypatch.setattr("genesis.cli.tasks.pinn.POINTS", 16)
    monkeypatch.setattr("genesis.cli.data.TRAIN", 300)


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
    assert [e["event"] for e in events] == ["begin"] + ["epoch"] * SMALL[name][1] + ["end"]
    settings = {"task", "seed", "epochs", "precision", "optimizer", "threads", "out"}
    assert settings | tasks.find(name).options.keys() <= events[0].keys()
    assert events[0]["out"] == str(out) and events[0]["epochs"] == SMALL[name][1]
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
    original = Trainer._update
    count = 0

    def wrapped(self, *args):
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, *args)

    monkeypatch.setattr(Trainer, "_update", wrapped)


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
    assert "resumed after epoch" in done.out
    assert_same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


def test_a_checkpoint_in_the_middle_of_an_epoch(tmp_path):
    settings = Settings("moons", epochs=2)

    def fresh(directory, **options):
        genesis.manual_seed(0)
        return TaskTrainer(tasks.find("moons")(settings), directory, Console(True), **options)

    whole = fresh(tmp_path / "a").train()
    fresh(tmp_path / "b", save_every=0.0).train()
    last = tmp_path / "b" / "checkpoints" / "step-000000040.safetensors"
    last.unlink()
    assert (last.parent / "step-000000039.safetensors").exists()
    assert fresh(tmp_path / "b").train().losses == whole.losses


@pytest.mark.parametrize("name", [n for n in SMALL if n != "pinn"])
def test_a_task_learns_in_bfloat16_too(name, tmp_path):
    done = run("train", name, *SMALL[name], "--precision", "bfloat16", "--out", "half", "--json")
    assert done.status == 0, done.err
    assert run("train", name, *SMALL[name], "--out", "whole", "--json").status == 0
    half, whole = (
        json.loads((tmp_path / d / "history.json").read_text()) for d in ("half", "whole")
    )
    assert half["losses"] != whole["losses"]
    assert half["losses"][0] == pytest.approx(whole["losses"][0], rel=0.1, abs=0.05)


def test_moons_are_learned(tmp_path):
    done = run("train", "moons", "--json")
    assert json.loads(done.out.splitlines()[-1])["test_accuracy"] > 0.97


def test_digits_are_learned(monkeypatch, tmp_path):
    monkeypatch.setattr("genesis.cli.data.TRAIN", 1437)
    done = run("train", "digits", "--epochs", 4, "--json")
    assert json.loads(done.out.splitlines()[-1])["test_accuracy"] > 0.96


def test_a_pole_is_balanced_longer_and_longer(monkeypatch, tmp_path):
    monkeypatch.setattr("genesis.cli.tasks.cartpole.ROUNDS", 5)
    done = run("train", "cartpole", "--epochs", 6, "--json")
    lengths = [json.loads(line).get("length") for line in done.out.splitlines()]
    assert lengths[6] > 2 * lengths[1]


def test_the_exact_solution_solves_the_equation():
    x = genesis.linspace(-0.9, 0.9, 19, dtype=genesis.float64).requires_grad_()
    t = genesis.linspace(0.1, 1, 19, dtype=genesis.float64).requires_grad_()
    u = pinn.exact(x, t)
    u_x, u_t = genesis.autograd.grad(u.sum(), [x, t], create_graph=True)
    (u_xx,) = genesis.autograd.grad(u_x.sum(), [x])
    assert (u_t + u * u_x - pinn.VISCOSITY * u_xx).abs().max().item() < 1e-6


def test_a_network_comes_to_satisfy_the_equation(monkeypatch):
    monkeypatch.setattr(pinn, "ROUNDS", 40)
    monkeypatch.setattr(pinn, "POINTS", 128)
    done = run("train", "pinn", "--epochs", 3, "--json")
    losses = [json.loads(line)["loss"] for line in done.out.splitlines()[1:]]
    assert losses[2] < 0.8 * losses[0]


def test_a_text_of_ones_own(tmp_path):
    (tmp_path / "song.txt").write_text("the rain in spain stays mainly\n" * 60)
    done = run("train", "gpt", "--epochs", 1, "--text", "song.txt", "--sample", 15)
    assert done.status == 0, done.err
    written = done.out.split("Generated text:\n\n")[1][:15]
    assert set(written) <= set("the rain in spain stays mainly\n")
    (tmp_path / "short.txt").write_text("too short")
    assert "too few" in run("train", "gpt", "--text", "short.txt").err
    assert "No such file" in run("train", "gpt", "--text", "none.txt").err


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
    assert "resumed after epoch 1" in longer.out
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
        (("--epochs", 3, "digits"), "the task comes first: genesis train digits --epochs 3"),
        (("moons", "--epochs", "many"), "expected a whole number from 1, got 'many'"),
        (("moons", "--epochs", 0), "expected a whole number from 1, got '0'"),
        (("moons", "--speed", 3), "--speed"),
        (("moons", "--epoch", 3), "--epoch 3; did you mean --epochs?"),
        (("moons", "--precision", "int8"), "float32"),
        (("pinn", "--precision", "bfloat16"), "float32"),
        (("moons", "--resume"), "there is no run of moons"),
        (("moons", "--resume", "--out", "none"), "there is no run in none"),
    ],
)
def test_mistakes_are_told_with_the_way_out(arguments, expected):
    done = run("train", *arguments)
    assert done.status == 2
    assert expected in done.err
    assert "Traceback" not in done.err


def test_folders_and_files_that_are_wrong(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("train", "moons", "--epochs", 1, "--out", tmp_path / "file" / "run")
    assert done.status == 1
    assert "Not a directory" in done.err and str(tmp_path / "file") in done.err
    (tmp_path / "run").mkdir()
    (tmp_path / "run/run.json").write_text("{half")
    done = run("train", "moons", "--resume", "--out", tmp_path / "run")
    assert done.status == 2
    assert "is damaged" in done.err
    (tmp_path / "picture").write_bytes(b"\x89PNG" * 1000)
    done = run("train", "gpt", "--text", tmp_path / "picture")
    assert done.status == 2
    assert "byte 0 is not valid UTF-8" in done.err


def test_piped_output_is_plain(tmp_path):
    process = start("train", "moons", "--epochs", 2, cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "\x1b" not in out + err
    assert "\r" not in out
    assert len(re.findall(r"^ +\d/2 ", out, re.MULTILINE)) == 2


def test_a_terminal_gets_a_bar_and_colours(tmp_path):
    pytest.importorskip("rich")
    import fcntl
    import pty
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
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
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    shown = [
        part for part in re.split(r"[\r\n]+", plain) if part.lstrip().startswith(("epoch", "1/"))
    ]
    assert len(shown) >= 3 and all(len(part) <= 80 for part in shown)


def test_a_second_signal_stops_at_once():
    with Signals() as signals:
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


def test_progress_lines_fit_a_terminal_and_align(tmp_path):
    for name in SMALL:
        done = run("train", name, *SMALL[name], "--out", tmp_path / name)
        lines = done.out.splitlines()
        header = next(i for i, line in enumerate(lines) if line.startswith("epoch"))
        table = lines[header : header + 1 + SMALL[name][1]]
        assert all(len(line) <= 80 for line in lines if str(tmp_path) not in line), name
        assert len({len(line) for line in table}) == 1, table


def test_gpt_has_the_size_that_was_asked_for(tmp_path):
    small = ("--blocks", 2, "--width", 16, "--context", 24)
    done = run("train", "gpt", "--epochs", 1, "--sample", 0, *small, "--json", "--out", "a")
    first = json.loads(done.out.splitlines()[0])
    assert (first["blocks"], first["width"], first["context"]) == (2, 16, 24)
    found = weights(tmp_path / "a")
    assert found["position_embedding.weight"].shape == (24, 16)
    assert "blocks.1.projection.weight" in found and "blocks.2.projection.weight" not in found
    assert "--width 16" in run("train", "gpt", "--resume", "--out", "a", "--width", 24).err
    assert "multiple of the 4 heads" in run("train", "gpt", "--width", 30).err


def test_training_on_several_ranks_is_refused(monkeypatch):
    for name, value in {"PMI_RANK": "0", "PMI_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert "genesis.fit" in run("train", "moons").err
