"""Every example runs, prints something that makes sense, and draws its picture."""

import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import genesis
import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py"))
PICTURES = ROOT / "docs" / "images" / "examples"


def run(name, folder, *options):
    """The example in a folder of its own, with the package that the tests use."""
    package = pathlib.Path(genesis.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / f"{name}.py", "--smoke", *options],
        capture_output=True, text=True, cwd=folder, timeout=120, env={**os.environ, "PYTHONPATH": str(package)},
    )  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_draws(name, tmp_path):
    done = run(name, tmp_path, "--picture", "new.svg")
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d", done.stdout) and "nan" not in done.stdout.split()
    assert [p.name for p in tmp_path.iterdir()] == ["new.svg"]
    drawn = xml.etree.ElementTree.parse(tmp_path / "new.svg").getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg" and len(drawn) >= 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_picture_is_in_the_documents(name):
    drawn = xml.etree.ElementTree.parse(PICTURES / f"{name}.svg").getroot()
    assert drawn.tag.endswith("svg")
    assert "nan" not in (PICTURES / f"{name}.svg").read_text()
    text = (ROOT / "docs" / "guide" / "examples.md").read_text()
    assert f"../images/examples/{name}.svg" in text and f"examples/{name}.py" in text


def test_a_resumed_run_is_the_same(tmp_path):
    assert "the same to the last bit: True" in run("checkpoint_resume", tmp_path).stdout
