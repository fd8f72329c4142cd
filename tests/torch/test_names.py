"""PyTorch's names: the list is current, answers are given, and signatures are the same."""

import importlib
import importlib.util
import inspect
import pathlib
import pickle
import re
import warnings

import genesis
import pytest
from genesis.torch import names
from genesis.torch.notes import ABSENT, DIFFERENT

from tests.torch.known import STUBS
from tests.torch.signatures import differences, of_python, of_torch

ROOT = pathlib.Path(__file__).parents[2]
CLASSES = ("torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer")
ENTRIES = list(names.table())


def test_the_list_of_names_is_that_of_the_pytorch_installed():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("torch_names", ROOT / "tools/torch_names.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.render(tool.collect()) == tool.PLACE.read_text()


def test_what_is_absent_has_a_reason():
    for entry in ENTRIES:
        if entry.status == "absent":
            assert entry.note
    assert len({rule.topic for rule in ABSENT}) == len(ABSENT)


def test_a_note_on_a_difference_is_about_something():
    have = [entry.full for entry in ENTRIES if entry.status != "absent"]
    for patterns, _ in DIFFERENT:
        for pattern in patterns.split():
            listed = any(names._matches(full, pattern) for full in have)
            assert listed or names.exists(f"torch.{pattern}"), pattern


@pytest.mark.parametrize("owner", names.known())
def test_asking_for_an_absent_name_says_why(owner):
    value = names.lookup(owner, None)
    if inspect.ismodule(value):
        for entry in ENTRIES:
            if entry.owner == owner and entry.status == "absent":
                with pytest.raises(AttributeError) as error:
                    getattr(value, entry.name)
                assert entry.note in str(error.value)
                assert not hasattr(value, entry.name)
                return


ABSENT_MEMBERS = [e for e in ENTRIES if e.owner == "torch.Tensor" and e.status == "absent"]


@pytest.mark.parametrize("entry", ABSENT_MEMBERS, ids=lambda entry: entry.name)
def test_asking_for_an_absent_member_of_tensors_says_why(entry):
    name = entry.name
    x = genesis.nn.Parameter(genesis.ones(2))
    with pytest.raises(AttributeError) as error:
        getattr(x, name)
    assert str(error.value) == f"'Parameter' object has no attribute {name!r}: {entry.note}"
    assert not hasattr(x, name) and not hasattr(genesis.Tensor, name)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    setattr(x, name, 3)  # the name is free for the user
    assert getattr(x, name) == 3


def test_an_unknown_name_is_corrected():
    with pytest.raises(AttributeError, match="did you mean 'Linear'"):
        genesis.nn.Linaer
    with pytest.raises(AttributeError, match="no attribute 'qqqq'$"):
        genesis.nn.qqqq


def test_the_readme_claims_no_more_than_there_is():
    claimed, total = re.search(
        r"has ([\d,]+) of the ([\d,]+) public names", (ROOT / "README.md").read_text()
    ).groups()
    present = sum(entry.status != "absent" for entry in ENTRIES)
    assert int(claimed.replace(",", "")) <= present
    assert int(total.replace(",", "")) == len(ENTRIES)


def _theirs(entry):
    module, _, kind = entry.owner.rpartition(".")
    if entry.owner in CLASSES:
        return getattr(getattr(importlib.import_module(module), kind), entry.name, None)
    return getattr(importlib.import_module(entry.owner), entry.name, None)


def _signature_differences(entry):
    theirs, ours = _theirs(entry), names.lookup(entry.full)
    if not callable(theirs):
        return []
    try:
        mine = of_python(ours)
    except (TypeError, ValueError):
        return []
    known = of_torch(entry.owner, entry.name, theirs)
    if entry.owner in CLASSES:
        mine = mine[1:]
        if inspect.isfunction(theirs):
            known = [signature[1:] for signature in known]
    ignored = STUBS.get(entry.full, ())
    return [d for d in differences(known, mine, ours) if not any(name in d for name in ignored)]


@pytest.mark.parametrize("owner", names.known())
def test_signatures_are_the_same(owner):
    """Names, order, defaults and keyword-only parameters of every name that is called the same."""
    pytest.importorskip("torch")
    if owner == "torch.utils.tensorboard":
        pytest.importorskip("tensorboard")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in ENTRIES:
            if entry.owner == owner and entry.status == "same":
                different = _signature_differences(entry)
                if different:
                    found[entry.full] = different
    assert not found
