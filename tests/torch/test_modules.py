"""Layers and optimizers, on the samples of PyTorch's own tests: the same results and gradients."""

import itertools
import sys
import types
import unittest
import warnings

import genesis
import numpy as np
import pytest
from genesis.torch import names

torch = pytest.importorskip("torch")
if "expecttest" not in sys.modules:  # PyTorch's tests import it; nothing here needs it
    stand_in = types.ModuleType("expecttest")
    stand_in.TestCase = unittest.TestCase
    sys.modules["expecttest"] = stand_in
modules = pytest.importorskip("torch.testing._internal.common_modules")
optimizers = pytest.importorskip("torch.testing._internal.common_optimizers")

from torch.utils._pytree import tree_map_only  # noqa: E402

from tests.torch.compare import (  # noqa: E402
    array,
    assert_same,
    assert_same_gradients,
    leaves,
    to_genesis,
)
from tests.torch.known import UNLIKE_MODULES  # noqa: E402

SAMPLES = 6


def shared_modules():
    for info in modules.module_db:
        name = info.module_cls.__name__
        if info.module_cls.__module__.startswith("torch.nn.modules") and names.exists(
            f"torch.nn.{name}"
        ):
            yield pytest.param(info, name, id=name)


def samples(info):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        made = info.module_inputs_func(
            info, device="cpu", dtype=torch.float64, requires_grad=True, training=True
        )
        yield from itertools.islice(made, SAMPLES)


@pytest.mark.parametrize(("info", "name"), list(shared_modules()))
def test_a_layer_is_the_same_as_pytorchs(info, name):
    if name in UNLIKE_MODULES:
        pytest.skip(UNLIKE_MODULES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples(info):
            made, called = sample.constructor_input, sample.forward_input
            if called is None:
                continue
            theirs = info.module_cls(*made.args, **made.kwargs).double()
            ours = getattr(genesis.nn, name)(*to_genesis(made.args), **to_genesis(made.kwargs))
            ours.double()
            ours.load_state_dict({k: to_genesis(v) for k, v in theirs.state_dict().items()})
            called = tree_map_only(torch.Tensor, leaf, [list(called.args), called.kwargs])
            args, kwargs = to_genesis(called)
            torch.manual_seed(0)
            expected = theirs(*called[0], **called[1])
            found = ours(*args, **kwargs)
            values = "Dropout" not in name and "RReLU" not in name
            assert_same(found, expected, values)
            if not values:
                continue
            mine = [*(p for p in ours.parameters()), *inputs([args, kwargs], genesis.Tensor)]
            wanted = [
                *(p for p in theirs.parameters()),
                *inputs(called, torch.Tensor),
            ]
            assert_same_gradients(found, mine, expected, wanted)


def leaf(tensor):
    """The same values without the history of the sample."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def inputs(value, kind):
    return [t for t in leaves(value, kind) if t.requires_grad]


def shared_optimizers():
    for info in optimizers.optim_db:
        name = info.optim_cls.__name__
        # SparseAdam takes sparse gradients only: tests/sparse.
        if names.exists(f"torch.optim.{name}") and name != "SparseAdam":
            for i, given in enumerate(info.optim_inputs_func(device="cpu")):
                if not {"fused", "foreach", "capturable"} & given.kwargs.keys():
                    yield pytest.param(name, given.kwargs, id=f"{name}-{i}-{given.desc}")


@pytest.mark.parametrize(("name", "kwargs"), list(shared_optimizers()))
def test_an_optimizer_is_the_same_as_pytorchs(name, kwargs):
    kwargs = {k: v.item() if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
    torch.manual_seed(0)
    start = [torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)]
    target = torch.randn(4, 2, dtype=torch.float64)

    def run(library, tensors, goal):
        weights = [library.nn.Parameter(t) for t in tensors]
        optimizer = getattr(library.optim, name)(weights, **kwargs)

        def closure():
            optimizer.zero_grad()
            loss = ((weights[0].tanh() @ weights[1] - goal) ** 2).mean()
            loss.backward()
            return loss

        for _ in range(5):
            optimizer.step(closure)
        return weights

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = run(torch, [t.clone() for t in start], target)
        found = run(genesis, to_genesis(start), to_genesis(target))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(array(a), array(b), rtol=1e-6, atol=1e-9)
