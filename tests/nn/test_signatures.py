"""Layers, functions and initialisers take what PyTorch's take, in the same order, with the same defaults."""

import inspect

import pytest
from genesis import nn

torch = pytest.importorskip("torch")

# What we take beyond PyTorch's, always by keyword.
MORE = {
    "Linear": ["input_size", "output_size"],
    "dropout": ["generator"],
    "sigmoid": ["out"],
    "tanh": ["out"],
    "threshold": ["out"],
}
# PyTorch's take *args, or are dispatched by decorators that hide what they take.
HIDDEN = {
    *("Module", "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"),
    *("RNN", "LSTM", "GRU", "RNNBase", "RNNCellBase"),
}


def parameters(function):
    try:
        signature = inspect.signature(function)
    except ValueError:  # a builtin of PyTorch's
        return None
    return {p.name: p.default for p in signature.parameters.values()}


def same(ours, theirs, name):
    for more in MORE.get(name, ()):
        ours.pop(more)
    assert list(ours) == list(theirs)
    for parameter, default in theirs.items():
        mine = ours[parameter]
        if callable(default) and default is not inspect.Parameter.empty:
            assert mine.__name__ == default.__name__
        elif name == "Linear" and parameter.endswith("_features"):
            assert mine is None  # there are two names
        else:
            assert mine == default, parameter


CLASSES = [n for n in nn.__all__ if inspect.isclass(getattr(torch.nn, n, None)) and n not in HIDDEN]


@pytest.mark.parametrize("name", CLASSES)
def test_layers(name):
    ours, theirs = getattr(nn, name), getattr(torch.nn, name)
    same(parameters(ours.__init__), parameters(theirs.__init__), name)
    if not issubclass(theirs, torch.nn.Module):
        return
    forward = parameters(theirs.forward)
    if name not in ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        same(parameters(ours.forward), forward, "")


FUNCTIONS = [n for n in nn.functional.__all__ if hasattr(torch.nn.functional, n)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    theirs = parameters(getattr(torch.nn.functional, name))
    if theirs is None or "args" in theirs or name.endswith("_with_indices"):
        pytest.skip("PyTorch does not say")
    same(parameters(getattr(nn.functional, name)), theirs, name)


@pytest.mark.parametrize("name", [n for n in nn.init.__all__ if n.endswith("_")])
def test_initialisers(name):
    same(parameters(getattr(nn.init, name)), parameters(getattr(torch.nn.init, name)), name)


@pytest.mark.parametrize("name", [n for n in nn.utils.__all__ if hasattr(torch.nn.utils, n)])
def test_utilities(name):
    ours, theirs = parameters(getattr(nn.utils, name)), parameters(getattr(torch.nn.utils, name))
    if "args" in theirs:
        pytest.skip("PyTorch does not say")
    same(ours, theirs, name)
