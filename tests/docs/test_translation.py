"""The Chinese catalogues are complete for the tutorial and the guides.

What is to be translated is taken from the pages by Sphinx, so that a page that has changed since
shows; `tools/docs gettext` brings the catalogues up to date.
"""

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
pytest.importorskip("sphinx_copybutton")

from babel.messages.pofile import read_po

ROOT = pathlib.Path(__file__).parents[2]
CATALOGUES = ROOT / "docs/locale/zh_CN/LC_MESSAGES"
PAGES = ["index"]
for folder in ("tutorial", "guide"):
    PAGES += sorted(f"{folder}/{page.stem}" for page in (ROOT / "docs" / folder).glob("*.md"))


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    out = tmp_path_factory.mktemp("gettext")
    skipped = "exclude_patterns=_extensions,_templates,locale,images,reference,internals"
    subprocess.run(
        [sys.executable, "-m", "sphinx", "-Q", "-b", "gettext", "-D", skipped,
         "-d", out / "cache", ROOT / "docs", out],
        check=True,
    )  # fmt: skip
    return out


def messages(path):
    with path.open("rb") as file:
        return {m.id: m for m in read_po(file) if m.id}


@pytest.mark.parametrize("page", PAGES)
def test_every_message_of_a_page_is_translated(page, templates):
    wanted = messages(templates / f"{page}.pot")
    found = messages(CATALOGUES / f"{page}.po")
    assert [m for m in wanted if m not in found or not found[m].string] == []
    assert [m for m in wanted if found[m].fuzzy] == []
    for message in wanted:
        translation = found[message].string
        for what in (r"`([^`]+)`", r"\]\(([^)]+)\)"):  # code and links stay
            assert set(re.findall(what, message)) == set(re.findall(what, translation)), message


def test_sentences_are_in_chinese():
    for page in PAGES:
        for message, found in messages(CATALOGUES / f"{page}.po").items():
            prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", message)
            if len(re.findall("[a-z]{2,}", prose)) > 3:
                assert re.search(r"[一-鿿]", found.string), message
