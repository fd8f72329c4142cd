"""The tutorial's code can be pasted into the Python prompt, and its pictures are there."""

import code
import contextlib
import io
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/tutorial").glob("*.md"))
LESSONS = [page for page in PAGES if page.stem != "index"]


class Prompt(code.InteractiveConsole):
    def __init__(self):
        super().__init__()
        self.errors = ""

    def write(self, data):
        self.errors += data


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_can_be_pasted_into_the_prompt(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    prompt = Prompt()
    with contextlib.redirect_stdout(io.StringIO()):
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M):
            for line in [*block.splitlines(), ""]:
                prompt.push(line)
                assert not prompt.errors, f"{line}\n{prompt.errors}"


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_a_page_has_exercises_with_solutions(page):
    text = page.read_text()
    exercises = text.partition("## Exercise")[2]
    assert "Solution" in exercises and "```python" in exercises.partition("Solution")[2]


def test_the_tutorial_has_pictures():
    shown = {
        name for page in PAGES for name in re.findall(r"\.\./(images/\S+\.svg)", page.read_text())
    }
    assert len(shown) >= 6
    assert all((ROOT / "docs" / name).exists() for name in shown)
