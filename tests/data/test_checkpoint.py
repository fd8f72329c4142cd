"""Checkpoints: a killed and resumed run ends bitwise equal to an unbroken one."""

import os
import random
import signal
import subprocess
import sys

import genesis
import numpy as np
import pytest
from genesis.serialization import FileFormatError
from genesis.utils.training import Checkpoint


def train(directory, result, die_at=0, workers=0):
    arguments = [str(a) for a in (directory, result, die_at, workers)]
    return subprocess.run(
        [sys.executable, "-m", "tests.data.train", *arguments], check=False
    ).returncode


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_and_resumed_run_ends_as_an_unbroken_one(tmp_path, workers):
    assert train(tmp_path / "a", tmp_path / "unbroken.safetensors", workers=workers) == 0
    for die_at in (9,) if workers else (3, 6, 13):  # in an epoch, between two, and again
        assert (
            train(tmp_path / "b", tmp_path / "broken.safetensors", die_at, workers)
            == -signal.SIGKILL
        )
    assert train(tmp_path / "b", tmp_path / "broken.safetensors", workers=workers) == 0
    assert (tmp_path / "unbroken.safetensors").read_bytes() == (
        tmp_path / "broken.safetensors"
    ).read_bytes()
    assert len(genesis.load(tmp_path / "broken.safetensors")["losses"]) == 18


class Part:
    def __init__(self, value):
        self.value = value

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


def test_parts_values_and_random_numbers_come_back(tmp_path):
    part, generator = Part(genesis.ones(2)), genesis.Generator().manual_seed(4)
    checkpoint = Checkpoint(tmp_path / "run", part=part, generator=generator)
    assert checkpoint.restore() is None
    checkpoint.save(5, epoch=2, best=genesis.tensor(0.5))

    def draws():
        return (
            genesis.rand(2).tolist(),
            genesis.rand(2, generator=generator).tolist(),
            random.random(),
            np.random.rand(),
        )

    expected = draws()
    part.value = None
    assert checkpoint.restore() == {"epoch": 2, "best": genesis.tensor(0.5), "step": 5}
    assert draws() == expected and part.value.tolist() == [1, 1]


def test_only_the_latest_are_kept(tmp_path):
    checkpoint = Checkpoint(tmp_path, keep=2, part=Part(0))
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ".step-000000009.safetensors.0a1b.tmp").write_bytes(b"half")
    for step in (1, 2, 10, 3):
        checkpoint.save(step)
    assert checkpoint.steps() == [10, 3]
    assert sorted(os.listdir(tmp_path)) == [
        "notes.txt",
        "step-000000003.safetensors",
        "step-000000010.safetensors",
    ]
    everything = Checkpoint(tmp_path, keep=None, part=Part(0))
    everything.save(4)
    assert everything.steps() == [10, 3, 4]
    one = Checkpoint(tmp_path, keep=1, part=Part(0))
    one.save(4)
    assert one.steps() == [4]


def test_going_back_to_an_old_step_makes_it_the_latest(tmp_path):
    checkpoint = Checkpoint(tmp_path, keep=3, part=Part(0))
    for step in (10, 20, 30):
        checkpoint.save(step)
    assert checkpoint.restore(20)["step"] == 20
    checkpoint.save(21)
    assert checkpoint.restore()["step"] == 21 and checkpoint.steps() == [20, 30, 21]


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(TypeError, match="model is a int"):
        Checkpoint(tmp_path, model=3)
    with pytest.raises(ValueError, match="reserved"):
        Checkpoint(tmp_path, random=Part(0))
    with pytest.raises(ValueError, match="keep"):
        Checkpoint(tmp_path, keep=0)
    checkpoint = Checkpoint(tmp_path, part=Part(0))
    with pytest.raises(ValueError, match="step"):
        checkpoint.save(-1)
    checkpoint.save(1)
    with pytest.raises(FileNotFoundError, match=r"no step 2; there are \[1\]"):
        checkpoint.restore(2)
    with pytest.raises(ValueError, match=r"missing \['model'\], unexpected \['part'\]"):
        Checkpoint(tmp_path, model=Part(0)).restore()
    with open(checkpoint.file(1), "r+b") as file:
        file.truncate(50)
    with pytest.raises(FileFormatError, match="step-000000001"):
        checkpoint.restore()
