"""What the documents show is what there is."""

import contextlib
import io
import pathlib
import re
import shlex
import subprocess
import sys

import genesis
import pytest
from genesis.cli import main
from genesis.cli.arguments import Parser

ROOT = pathlib.Path(__file__).parents[2]
needs_sources = pytest.mark.skipif(
    not (ROOT / "python").exists(), reason="the package is tested without its sources"
)


def blocks(path: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


def test_ci_calls_the_test_command_of_the_readme():
    command = next(c for c in blocks("README.md", "sh") if "pytest" in c)
    assert command.strip() in (ROOT / ".ci/run").read_text().splitlines()


def test_the_readme_is_short_and_its_links_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    (example,) = blocks("README.md", "python")
    assert len([line for line in example.splitlines() if line]) <= 12
    assert len(text.splitlines()) <= 130
    for target in re.findall(r"\]\(([^)#]+)", text) + re.findall(r"benchmarks/\w+\.py", text):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize(
    "block",
    [b for b in blocks("docs/internals/kernels.md", "(?:cpp|python)")],
)
def test_internals_show_the_real_code(block):
    folders = ("csrc/kernels", "csrc/ops", "csrc/bindings", "tests/ops/table")
    sources = [p.read_text() for f in folders for p in (ROOT / f).rglob("*activation*")]
    for piece in block.strip("\n").split("\n\n"):
        assert any(piece in source for source in sources), piece


PAGES = ["README.md", "docs/index.md", "docs/internals/adding-an-op.md"]
for folder in ("docs/tutorial", "docs/guide"):
    PAGES += sorted(f"{folder}/{page.name}" for page in (ROOT / folder).glob("*.md"))


def _included() -> list[tuple[str, str, str]]:
    """(page, file, first and last line) of everything that a page includes from a file."""
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        pattern = r"```\{literalinclude\} (\S+)\n(.*?)```"
        for target, options in re.findall(pattern, page.read_text(), re.DOTALL):
            path = (page.parent / target).resolve()
            for text in re.findall(r":(?:start-at|end-at|end-before): (.*)", options):
                found.append((page.name, str(path.relative_to(ROOT)), text))
    return found


@needs_sources
@pytest.mark.parametrize(("page", "file", "text"), _included())
def test_code_that_a_page_includes_is_there(page, file, text):
    assert text in (ROOT / file).read_text(), f"{page} includes from {file}"


def test_files_of_a_new_operator_are_counted():
    text = (ROOT / "docs/internals/adding-an-op.md").read_text()
    composed, fused = text.split("## A fused operator")
    assert [len(re.findall(r"^\*\*\d\. ", part, re.M)) for part in (composed, fused)] == [3, 7]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_print_what_they_say(page, monkeypatch, tmp_path):
    """The python blocks of a page run in order; a text block after one is what it prints."""
    monkeypatch.chdir(tmp_path)
    genesis.manual_seed(0)
    text = (ROOT / page).read_text()
    names: dict[str, object] = {"__name__": "__main__"}
    shown = ""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, page, "exec"), names)
            shown = out.getvalue()
        elif language == "text":
            assert shown == block


def lines_of_the_shell():
    for page in PAGES:
        for block in blocks(page, "sh"):
            for line in block.splitlines():
                yield from ((page, part.strip()) for part in line.split("&&"))


@pytest.mark.parametrize(
    ("page", "line"), [(p, c) for p, c in lines_of_the_shell() if re.match(r"\S*genesis ", c)]
)
def test_a_command_line_of_a_page_is_one(page, line, monkeypatch):
    class Understood(Exception):
        pass

    def parse(self, words):
        given = super(Parser, self).parse_args(words)
        raise Understood(given)

    monkeypatch.setattr(Parser, "parse_args", parse)
    with pytest.raises(Understood):
        assert main(shlex.split(line, comments=True)[1:]) == 0


def test_scripts_on_a_page_are_there():
    lines = [line for _, line in lines_of_the_shell()]
    scripts = [found[0] for line in lines if (found := re.search(r"\w+/\w+\.py", line))]
    assert len(scripts) >= 4
    assert all((ROOT / script).exists() for script in scripts)


@needs_sources
def test_files_that_internals_name_are_there():
    roots = [ROOT, ROOT / "csrc", ROOT / "csrc/kernels", ROOT / "python", ROOT / "python/genesis"]
    for page in sorted((ROOT / "docs/internals").glob("*.md")):
        names = re.findall(r"`([\w./]+(?:\.(?:h|cpp|py)|/))`", page.read_text())
        missing = [name for name in names if not any((root / name).exists() for root in roots)]
        assert not missing, page.name


@needs_sources
def test_files_that_comments_of_the_core_name_are_there():
    folders = ("csrc", "python", "tests", "tools", "docs")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.*")]
    names = {str(file.relative_to(ROOT)) for file in files}
    endings = {name[i:] for name in names for i in range(len(name)) if i == 0 or name[i - 1] == "/"}
    missing = []
    for source in sorted((ROOT / "csrc").rglob("*.[hc]*")):
        for comment in re.findall(r"//(.*)", source.read_text()):
            for name in re.findall(r"[\w./]*\w\.(?:h|cpp|py|md)\b", comment):
                if name != "math.h" and name.lstrip("./") not in endings:
                    missing.append(f"{source.relative_to(ROOT)}: {name}")
    assert not missing


def test_layers_include_only_what_lies_below():
    run = subprocess.run([sys.executable, ROOT / "tools/layers.py"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_training_example_learns():
    run = subprocess.run(
        [sys.executable, ROOT / "examples/spirals.py", "--steps", "600"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    accuracy = float(run.stdout.split()[-1])
    assert accuracy > 0.9, run.stdout
