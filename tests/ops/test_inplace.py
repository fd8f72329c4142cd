"""Every row with an in-place form: same values, same object, version bumped, same gradient."""

import genesis
import numpy as np
import pytest

from tests.ops.op import Op, Sample, sample_cases, tensor, to_numpy
from tests.ops.table import OPS


def _inplace(op: Op, args, kwargs):
    x, *rest = args
    return op.run(getattr(type(x), op.name + "_"), (x, *rest), kwargs)[0]


def _expected(op: Op, sample: Sample):
    args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in op.leaves(sample)])
    return op(*args, **kwargs)[0]


CASES = list(sample_cases([op for op in OPS if op.inplace]))


def _grows(op: Op, sample: Sample) -> bool:
    """The result is larger than the tensor that is to hold it."""
    exact = op.with_arrays(sample, [a.astype(op.precise[0]) for a in op.leaves(sample)])
    return op.ref is not None and op.expected(exact)[0].shape != sample.args[0].shape


def _params(cases):
    return [pytest.param(op, sample, id=i) for op, sample, i in cases]


@pytest.mark.parametrize("op, sample", _params(c for c in CASES if not _grows(*c[:2])))
def test_inplace_changes_the_tensor_itself(op: Op, sample: Sample):
    args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in op.leaves(sample)])
    x = args[0]
    version = x._version
    out = _inplace(op, args, kwargs)
    assert out is x
    assert x._version > version
    np.testing.assert_array_equal(to_numpy(x), to_numpy(_expected(op, sample)))


@pytest.mark.parametrize("op, sample", _params(c for c in CASES if _grows(*c[:2])))
def test_inplace_does_not_grow_the_tensor(op: Op, sample: Sample):
    args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in op.leaves(sample)])
    version = args[0]._version
    with pytest.raises((ValueError, RuntimeError)):
        _inplace(op, args, kwargs)
    assert args[0]._version == version


@pytest.mark.parametrize(
    "op, sample", _params(c for c in CASES if c[0].grad and not _grows(*c[:2]))
)
def test_inplace_in_a_graph_has_the_gradient_of_the_function(op: Op, sample: Sample):
    gradients = []
    for inplace in (False, True):
        leaves = [tensor(a, requires_grad=True) for a in op.leaves(sample)]
        args, kwargs = op.with_leaves(sample, leaves)
        args = (args[0] * 1, *args[1:])  # not a leaf, and nothing else needs its value
        out = _inplace(op, args, kwargs) if inplace else op(*args, **kwargs)[0]
        seed = tensor(np.random.default_rng(0).normal(size=out.shape))
        gradients.append(genesis.autograd.grad(out, leaves, seed, allow_unused=True))
    for wanted, actual in zip(*gradients, strict=True):
        assert (wanted is None) == (actual is None)
        if wanted is not None:
            np.testing.assert_allclose(to_numpy(actual), to_numpy(wanted), rtol=1e-12)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if op.inplace])
def test_inplace_on_a_view_changes_only_that_part(op: Op):
    sample = op.all_samples()[0]
    leaves = op.leaves(sample)
    base_values = np.stack([leaves[0], leaves[0], leaves[0]])
    args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in leaves])
    base = tensor(base_values, op.precise[0])
    _inplace(op, (base[1], *args[1:]), kwargs)
    base_values[1] = to_numpy(_expected(op, sample))
    np.testing.assert_array_equal(to_numpy(base), base_values)
