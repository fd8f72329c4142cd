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
        if callable(found):  # torch.float is a dtype
            return found
    if hasattr(torch.Tensor, op.name):
        return lambda x, *args, **kwargs: getattr(x, op.name)(*args, **kwargs)
    return None


COMPARABLE = [op for op in OPS if not op.random and not op.unlike_torch and _torch_function(op)]


def _to_torch(value):
    if isinstance(value, genesis.dtype):
        return getattr(torch, value.name)
    return value


def _changeable(op: Op, args):
    """A leaf that requires grad may not be changed in place."""
    return (args[0] * 1, *args[1:]) if op.mutates and op.grad else args


@pytest.mark.parametrize(
    "op, sample", [pytest.param(o, s, id=i) for o, s, i in sample_cases(COMPARABLE)]
)
def test_same_as_torch(op: Op, sample: Sample):
    arrays = op.leaves(sample)
    arrays = [a.astype(op.precise[0]) for a in arrays]
    ours = [tensor(a, requires_grad=op.grad) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=op.grad) for a in arrays]
    args, kwargs = op.with_leaves(sample, ours)
    outputs = op(*_changeable(op, args), **kwargs)
    args, kwargs = op.with_leaves(sample, theirs, other=torch.tensor)
    args, kwargs = tuple(map(_to_torch, args)), {k: _to_torch(v) for k, v in kwargs.items()}
    function = _torch_function(op)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own
        called = op.wrap(function) if op.wrap else function
        expected = listed(called(*_changeable(op, args), **kwargs))
    assert len(outputs) == len(expected)
    for out, wanted in zip(outputs, expected, strict=True):
        if not isinstance(wanted, torch.Tensor):
            assert out == wanted
            continue
        assert out.requires_grad == wanted.requires_grad
        theirs_value = wanted.detach().resolve_conj().numpy()
        np.testing.assert_allclose(to_numpy(out), theirs_value, rtol=1e-9, atol=1e-11)
    for k, (out, wanted) in enumerate(zip(outputs, expected, strict=True)):
        if not getattr(wanted, "requires_grad", False):
            continue
        seed = np.random.default_rng(k).normal(size=tuple(wanted.shape))
        if wanted.is_complex():
            seed = np.asarray(seed + 0.5j * seed**2)
        ours_grad = genesis.autograd.grad(
            out, ours, tensor(seed), retain_graph=True, allow_unused=True
        )
        theirs_grad = torch.autograd.grad(
            wanted, theirs, torch.tensor(seed), retain_graph=True, allow_unused=True
        )
        for a, b in zip(ours_grad, theirs_grad, strict=True):
            if a is None or b is None:  # torch computes zeros for what is overwritten
                assert all(g is None or not g.any() for g in (a, b))
            else:
                plain = b.resolve_conj().resolve_neg().numpy()
                np.testing.assert_allclose(to_numpy(a), plain, rtol=1e-9, atol=1e-11)
