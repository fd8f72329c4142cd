"""`genesis generate` samples from a run of `genesis train gpt`."""

import json

import pytest

from tests.cli.command import run

pytestmark = pytest.mark.usefixtures("num_threads")

TEXT = "the rain in spain stays mainly in the plain\n" * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("generate")
    (place / "song.txt").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("genesis.cli.tasks.gpt.ROUNDS", 30)
        patch.setattr("genesis.cli.tasks.gpt.BATCH", 8)
        size = ("--width", 32, "--blocks", 1, "--context", 16)
        text = ("--text", place / "song.txt", "--sample", 0)
        done = run("train", "gpt", "--epochs", 3, *size, *text, "--out", place / "run")
    assert done.status == 0, done.err
    return place / "run"


def test_it_goes_on_with_the_prompt(folder):
    done = run("generate", folder, "the rain ", "--length", 40)
    assert done.status == 0, done.err
    text = done.out.removesuffix("\n")
    assert text.startswith("the rain ") and len(text) == len("the rain ") + 40
    assert set(text) <= set(TEXT)


def test_the_seed_decides(folder):
    a, b, c = (run("generate", folder, "in ", "--seed", s).out for s in (1, 1, 2))
    assert a == b != c


def test_temperature_and_top_k(folder):
    likely = [run("generate", folder, "the ", "--temperature", 0, "--seed", s).out for s in (1, 2)]
    assert likely[0] == likely[1]
    assert run("generate", folder, "the ", "--top-k", 1, "--seed", 3).out == likely[0]


def test_json(folder):
    found = json.loads(run("generate", folder, "spain", "--length", 5, "--json").out)
    assert found["prompt"] == "spain" and len(found["text"]) == 5
    assert found["temperature"] == 0.8 and found["top_k"] is None and found["seed"] == 0


def test_a_long_prompt_and_none(folder):
    assert run("generate", folder, TEXT[:200], "--length", 1).status == 0
    assert len(run("generate", folder, "--length", 10).out) == 11


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("the ξ",), "never saw: 'ξ'"),
        (("the", "--temperature", "-1"), "expected a number from 0"),
        (("the", "--temperature", "nan"), "expected a number from 0"),
        (("the", "--top-k", 0), "expected a whole number from 1"),
    ],
)
def test_mistakes(folder, arguments, expected):
    done = run("generate", folder, *arguments)
    assert done.status == 2
    assert expected in done.err


def test_folders_without_a_complete_run_of_gpt(folder, tmp_path):
    assert "there is no run" in run("generate", tmp_path / "none", "a").err
    (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    assert "--resume" in run("generate", tmp_path, "a").err
    (tmp_path / "run.json").write_text("{")
    assert "is damaged" in run("generate", tmp_path, "a").err
    run("train", "moons", "--epochs", 1, "--out", tmp_path / "moons")
    assert "no run of genesis train gpt" in run("generate", tmp_path / "moons", "a").err
