"""Every operator that PyTorch has samples for and Genesis has too: the same results and gradients.

The samples are those of PyTorch's own tests, which are part of its package.
"""

import itertools
import sys
import types
import unittest
import warnings

import genesis
import pytest
from genesis.torch import names

torch = pytest.importorskip("torch")
if "expecttest" not in sys.modules:  # PyTorch's tests import it; nothing here needs it
    stand_in = types.ModuleType("expecttest")
    stand_in.TestCase = unittest.TestCase
    sys.modules["expecttest"] = stand_in
invocations = pytest.importorskip("torch.testing._internal.common_methods_invocations")

from tests.torch.compare import assert_same, assert_same_gradients, leaves, to_genesis  # noqa: E402
from tests.torch.known import NO_GRADIENT, UNLIKE  # noqa: E402

SAMPLES = 6  # of each operator and dtype
LARGEST = 5000  # elements of a sample
DTYPES = [
    torch.float64,
    torch.float32,
    torch.int64,
    torch.bool,
    torch.complex128,
    torch.complex64,
]


def shared():
    for op in invocations.op_db:
        full = f"torch.{op.name}"
        if not any(p.startswith("_") for p in op.name.split(".")) and names.exists(full):
            for dtype in DTYPES:
                if op.supports_dtype(dtype, "cpu"):
                    yield pytest.param(op, full, dtype, id=f"{op.full_name}-{names_of(dtype)}")


def names_of(dtype):
    return str(dtype).removeprefix("torch.")


def samples(op, dtype):
    grad = (dtype.is_floating_point or dtype.is_complex) and op.supports_autograd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        found = op.sample_inputs("cpu", dtype, requires_grad=grad)
        for sample in itertools.islice(found, SAMPLES):
            tensors = leaves([sample.input, sample.args, sample.kwargs], torch.Tensor)
            if sum(t.numel() for t in tensors) <= LARGEST:
                yield sample


def ours_of(op, full):
    """Our function; where PyTorch's samples are for a lambda around its function, that lambda."""
    if isinstance(op.op, types.LambdaType) and op.op.__name__ == "<lambda>":
        code = op.op
        world = {**code.__globals__, "torch": genesis}
        return types.FunctionType(code.__code__, world, "ours", code.__defaults__, code.__closure__)
    found = names.lookup(full)
    return found if callable(found) else getattr(genesis.Tensor, op.name)


def is_random(op, sample):
    """Whether results are random numbers, or whatever was in memory."""
    code = getattr(op.op, "__code__", None)
    if "empty" in op.name or (code is not None and "wrapper_set_seed" in code.co_names):
        return True
    first, second = (
        leaves(op.op(sample.input, *sample.args, **sample.kwargs), torch.Tensor) for _ in "ab"
    )
    return any(
        not torch.equal(a, b) and not (a != a).any() for a, b in zip(first, second, strict=True)
    )


def inputs(values, kind):
    return [t for t in leaves(values, kind) if t.requires_grad]


@pytest.mark.parametrize(("op", "full", "dtype"), list(shared()))
def test_same_as_pytorch(op, full, dtype):
    kinds = (op.full_name, f"{op.full_name}-{names_of(dtype)}")
    if why := next((UNLIKE[kind] for kind in kinds if kind in UNLIKE), ""):
        pytest.skip(why)
    ours = ours_of(op, full)
    double = dtype in (torch.float64, torch.complex128)
    rtol = 1e-7 if double else 2e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples(op, dtype):
            values = not is_random(op, sample)
            theirs = [sample.input, list(sample.args), sample.kwargs]
            mine = to_genesis(theirs)
            expected = op.op(sample.input, *sample.args, **sample.kwargs)
            found = ours(mine[0], *mine[1], **mine[2])
            grad = op.name not in NO_GRADIENT
            assert_same(found, expected, values, rtol, grad)
            if double and values and grad:
                assert_same_gradients(
                    found, inputs(mine, genesis.Tensor), expected, inputs(theirs, torch.Tensor)
                )
