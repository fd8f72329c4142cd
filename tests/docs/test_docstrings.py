"""The examples of docstrings print what they say."""

import doctest
import importlib
import pkgutil

import genesis
import pytest


def modules():
    # imported one by one, in the test: collecting must not need everything that is optional
    for found in pkgutil.walk_packages(genesis.__path__, "genesis."):
        if not found.name.startswith("genesis._C"):
            yield found.name


@pytest.mark.parametrize("name", ["genesis", *modules()])
def test_examples_of_docstrings(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some write files
    module = importlib.import_module(name)
    genesis.manual_seed(0)
    result = doctest.testmod(
        module,
        extraglobs={"genesis": genesis},
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert result.failed == 0
