"""The reference has an entry for every public name."""

import importlib
import inspect
import pathlib
import pkgutil
import re
from types import ModuleType

import genesis
import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def described():
    pytest.importorskip("docutils")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs/_extensions"))
        text = "\n".join(importlib.import_module("reference").pages().values())
    return set(re.findall(r"^\.\. (?:auto|py:)\w+:: genesis\.([\w.]+)", text, re.MULTILINE))


def public_modules():
    for found in pkgutil.walk_packages(genesis.__path__, "genesis."):
        parts = found.name.split(".")[1:]
        if parts[0] != "cli" and not any(part.startswith("_") for part in parts):
            yield found.name


def listed_as_a_namespace(name: str) -> bool:
    sections = importlib.import_module("sections")
    return any(
        name == f"genesis.{space}" or name.startswith(f"genesis.{space}.")
        for space in sections.NAMESPACES
    )


def test_every_public_name_is_in_the_reference(described):
    values = set()
    for full in described:
        value = genesis
        for part in full.split("."):
            value = getattr(value, part, None)
        values |= {id(value), id(getattr(value, "__wrapped__", value))}
    missing = []
    for name in ["genesis", *public_modules()]:
        if listed_as_a_namespace(name):
            continue
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            try:
                value = getattr(module, public)
            except ImportError:  # it needs an extra that is not installed
                continue
            full = f"{name}.{public}".removeprefix("genesis.").removeprefix("client.")
            if public == "__version__" or isinstance(value, ModuleType):
                continue
            # nn.modules.conv.Conv2d is described as nn.Conv2d
            plain = getattr(value, "__wrapped__", value)
            if full not in described and not {id(value), id(plain)} & values:
                missing.append(full)
    assert not missing, "\n".join(missing)


def test_every_method_and_attribute_of_a_tensor_is_in_the_reference(described):
    members = [n for n in dir(genesis.Tensor) if hasattr(genesis.Tensor, n)]
    assert {f"Tensor.{name}" for name in members if not name.startswith("_")} <= described


def test_no_entry_is_of_something_that_is_gone(described):
    for full in described:
        owner, _, name = f"genesis.{full}".rpartition(".")
        if owner == "genesis.Tensor":
            assert hasattr(genesis.Tensor, name)
        else:
            assert hasattr(importlib.import_module(owner), name), full


@pytest.mark.parametrize("folder", ["tutorial", "guide", "internals"])
def test_every_page_is_in_its_index(folder):
    pages = {page.stem for page in (ROOT / "docs" / folder).glob("*.md")} - {"index"}
    listed = (ROOT / "docs" / folder / "index.md").read_text().split()
    assert pages <= set(listed)


@pytest.fixture(scope="module")
def examples():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs/_extensions"))
        yield importlib.import_module("function_examples")


WITH_EXAMPLES = ["genesis", "genesis.nn.functional", "genesis.nn", "genesis.optim"]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_every_function_has_an_example_that_runs(name, examples):
    module = importlib.import_module(name)
    missing, failed = [], {}
    for public in module.__all__:
        value = getattr(module, public)
        if not inspect.isroutine(value) and not (inspect.isclass(value) and name != "genesis"):
            continue
        if ">>>" in (inspect.getdoc(value) or ""):
            continue  # tests/docs/test_docstrings.py runs it
        code = examples.code_of(name, public)
        if code is None:
            if name != "genesis" or not examples.undescribed(public):
                missing.append(public)
            continue
        try:
            shown = examples.run(code)
            assert shown
        except Exception as error:
            failed[public] = repr(error)
    assert not missing
    assert not failed


def test_sections_have_an_introduction_in_both_languages(examples):
    introductions = importlib.import_module("introductions").INTRODUCTIONS
    sections = importlib.import_module("sections")
    wanted = {*sections.FUNCTIONS, *sections.SUBJECTS.values(), "tensor", "nn", "nn.functional"}
    assert wanted | {"optim", "namespaces", "index"} <= introductions.keys()
    for english, chinese in introductions.values():
        assert english.endswith(".") and chinese.endswith("。")
        assert set(re.findall(r"``.+?``", english)) == set(re.findall(r"``.+?``", chinese))
