"""Every row that PyTorch knows too: same values, same first gradient. Skipped without PyTorch."""

import warnings

import genesis
import numpy as np
import pytest

from tests.ops.op import Op, Sample, listed, sample_cases, tensor, to_numpy
from tests.ops.table import OPS

torch = pytest.importorskip("torch")


def _torch_function(op: Op):
    for module in (torch, torch.nn.functional):
        found = module
        for part in op.name.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    if hasattr(torch.Tensor, op.name):
        return lambda x, *args, **kwargs: getattr(x, op.name)(*args, **kwargs)
    return None


COMPARABLE = [op for op in OPS if not op.random and not op.unlike_torch and _torch_function(op)]


@pytest.mark.parametrize(
    "op, sample", [pytest.param(o, s, id=i) for o, s, i in sample_cases(COMPARABLE)]
)
def test_same_as_torch(op: Op, sample: Sample):
    arrays = op.leaves(sample)
    ours = [tensor(a, requires_grad=op.grad) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=op.grad) for a in arrays]
    args, kwargs = op.with_leaves(sample, ours)
    outputs = op(*args, **kwargs)
    args, kwargs = op.with_leaves(sample, theirs, other=torch.tensor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own
        expected = listed(_torch_function(op)(*args, **kwargs))
    assert len(outputs) == len(expected)
    for out, wanted in zip(outputs, expected, strict=True):
        if not isinstance(wanted, torch.Tensor):
            assert out == wanted
            continue
        assert out.requires_grad == wanted.requires_grad
        np.testing.assert_allclose(to_numpy(out), wanted.detach().numpy(), rtol=1e-9, atol=1e-11)
    for k, (out, wanted) in enumerate(zip(outputs, expected, strict=True)):
        if not getattr(wanted, "requires_grad", False):
            continue
        seed = np.random.default_rng(k).normal(size=tuple(wanted.shape))
        ours_grad = genesis.autograd.grad(
            out, ours, tensor(seed), retain_graph=True, allow_unused=True
        )
        theirs_grad = torch.autograd.grad(
            wanted, theirs, torch.tensor(seed), retain_graph=True, allow_unused=True
        )
        for a, b in zip(ours_grad, theirs_grad, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(to_numpy(a), b.numpy(), rtol=1e-9, atol=1e-11)
