"""What the files around the code claim: versions, platforms, the scripts that workflows call."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import genesis
import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def platforms():
    spec = importlib.util.spec_from_file_location("platforms", ROOT / "tools" / "platforms.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["platforms"] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["platforms"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.skipif(
    not (ROOT / "python").exists(), reason="the package is tested without its sources"
)
def test_version_changelog_citation_and_recipe_agree():
    done = subprocess.run([ROOT / "tools" / "release", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1] == genesis.__version__


def test_a_release_is_refused_when_the_changelog_is_of_another_version(tmp_path):
    for name in ("tools", "python/genesis", "conda"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("tools/release", "CHANGELOG.md", "CITATION.cff", "conda/recipe.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "python/genesis/_version.py").write_text('__version__ = "9.8.7"\n')
    command = [tmp_path / "tools" / "release", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert 'no section "## 9.8.7 (YYYY-MM-DD)"' in done.stderr


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.stem
)
def test_workflows_call_scripts_that_are_there(path):
    scripts = re.findall(r"tools/\w+", path.read_text())
    assert scripts
    for script in scripts:
        assert os.access(ROOT / script, os.X_OK), script


def test_every_python_that_is_claimed_was_run(platforms):
    project = (ROOT / "pyproject.toml").read_text()
    claimed = set(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project))
    rows = platforms.read(platforms.PAGE.read_text())
    assert all(row.build == "ok" and not row.failed for row in rows)
    native = [row for row in rows if row.platform == "Linux x86_64"]
    run = {".".join(row.interpreter.split(".")[:2]) for row in native if row.passed > 1000}
    assert claimed <= run


def test_a_new_row_replaces_the_old_one_and_leaves_the_page_alone(platforms, tmp_path, monkeypatch):
    page = tmp_path / "platforms.md"
    page.write_text(
        f"Before.\n\n{platforms.HEAD}\n|---|---|---|---|---|---|---:|---:|---:|\n\nAfter.\n"
    )
    monkeypatch.setattr(platforms, "PAGE", page)
    first = platforms.Row("Linux x86_64", "3.12.1", "g++ 12.2.0", "2.4.1", "ok", "short", 5, 1, 0)
    other = platforms.Row("Linux x86_64", "3.9.1", "g++ 12.2.0", "2.4.1", "ok", "short", 5, 1, 0)
    again = platforms.Row("Linux x86_64", "3.12.2", "g++ 12.2.0", "2.4.2", "ok", "full", 50, 0, 0)
    platforms.record([first, other])
    platforms.record([again])
    text = page.read_text()
    assert platforms.read(text) == [other, again]
    assert text.startswith("Before.\n\n| platform") and text.endswith("|\n\nAfter.\n")
    assert platforms.counts("3 failed, 40 passed, 2 skipped, 1 error in 9s") == (40, 2, 4)
