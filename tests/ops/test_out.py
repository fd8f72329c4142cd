"""Every row whose function takes out=: same values there, same object back, room made in it."""

import inspect

import genesis
import numpy as np
import pytest

from tests.ops.op import Op, Sample, listed, tensor, to_numpy
from tests.ops.table import OPS


def _function(op: Op):
    found = genesis
    for part in op.name.split("."):
        found = getattr(found, part, None)
    return found


def _takes_out(op: Op) -> bool:
    function = _function(op)
    return callable(function) and "out" in inspect.signature(function).parameters


ROWS = [op for op in OPS if not op.wrap and _takes_out(op)]
rows = pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in ROWS])


def _sample(op: Op) -> Sample:
    """The first whose result is not empty, so that an empty out= has to grow."""
    for sample in op.all_samples():
        if all(getattr(r, "numel", lambda: 1)() for r in _run(op, sample)):
            return sample
    raise AssertionError(f"{op.id}: no sample with a result")


def _run(op: Op, sample: Sample, **more):
    args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in op.leaves(sample)])
    return op.run(_function(op), args, {**kwargs, **more})


def _one_or_all(outs):
    return outs[0] if len(outs) == 1 else tuple(outs)


def _same(actual, expected, uninitialised=False):
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    if not uninitialised:
        np.testing.assert_array_equal(to_numpy(actual), to_numpy(expected))


@rows
@pytest.mark.parametrize("room", ["fits", "empty", "strided"])
def test_the_result_is_in_out(op: Op, room: str):
    sample = _sample(op)
    expected = _run(op, sample)
    if room == "empty":
        outs = [genesis.empty(0, dtype=e.dtype) for e in expected]
    elif room == "fits":
        outs = [genesis.empty_like(e).contiguous() for e in expected]
    else:
        outs = [genesis.zeros(*e.shape, 2, dtype=e.dtype)[..., 1] for e in expected]
    versions = [o._version for o in outs]
    results = _run(op, sample, out=_one_or_all(outs))
    assert all(a is b for a, b in zip(results, outs, strict=True))
    assert all(o._version > v for o, v in zip(outs, versions, strict=True))
    for out, wanted in zip(outs, expected, strict=True):
        _same(out, wanted, op.name == "empty")


@rows
def test_out_of_a_wider_dtype_is_converted_to(op: Op):
    sample = _sample(op)
    expected = _run(op, sample)
    widest = any(e.dtype == genesis.float64 or e.dtype.is_complex for e in expected)
    if widest or "dtype" in sample.kwargs:
        outs = [genesis.empty(0, dtype=e.dtype) for e in expected]
    else:
        outs = [genesis.empty(0, dtype=genesis.float64) for e in expected]
    _run(op, sample, out=_one_or_all(outs))
    if not op.random and op.name != "empty":
        for out, wanted in zip(outs, expected, strict=True):
            np.testing.assert_allclose(to_numpy(out), to_numpy(wanted), rtol=1e-6)


@rows
def test_out_of_another_shape_is_refused(op: Op):
    sample = _sample(op)
    expected = _run(op, sample)
    outs = [genesis.zeros(*e.shape, 3, dtype=e.dtype) for e in expected]
    with pytest.raises((ValueError, RuntimeError), match="cannot be stored in a tensor of shape"):
        _run(op, sample, out=_one_or_all(outs))
    assert not any(o.any() for o in outs)


@rows
def test_out_that_is_no_tensor_is_refused(op: Op):
    with pytest.raises(TypeError, match="'out'"):
        _run(op, _sample(op), out=3)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in ROWS if op.grad])
def test_out_of_what_requires_grad_is_refused(op: Op):
    sample = _sample(op)
    expected = _run(op, sample)
    outs = [genesis.empty(0, dtype=e.dtype) for e in expected]
    leaves = [tensor(a, requires_grad=True) for a in op.leaves(sample)]
    args, kwargs = op.with_leaves(sample, leaves)
    with pytest.raises(RuntimeError, match="out= leaves no trace in the graph"):
        op.run(_function(op), args, {**kwargs, "out": _one_or_all(outs)})
    with genesis.no_grad():
        op.run(_function(op), args, {**kwargs, "out": _one_or_all(outs)})


def test_out_may_lie_across_the_inputs():
    x = genesis.arange(5.0)
    genesis.add(x[:-1], x[1:], out=x[1:])
    assert x.tolist() == [0.0, 1.0, 3.0, 5.0, 7.0]
    x = genesis.arange(6.0).reshape(2, 3)
    genesis.cumsum(x, 0, out=x)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 5.0, 7.0]]


def test_out_of_a_creating_function_decides_the_dtype():
    counts = genesis.empty(3, dtype=genesis.int64)
    assert genesis.ones(3, out=counts) is counts
    assert counts.tolist() == [1, 1, 1]


def test_an_empty_view_does_not_leave_its_base():
    base = genesis.ones(3)
    with pytest.raises(ValueError, match="cannot be stored"):
        genesis.exp(genesis.ones(2), out=base[:0])
    assert base.tolist() == [1.0, 1.0, 1.0]


def test_as_many_outs_as_results():
    x = genesis.rand(2, 3)
    with pytest.raises(TypeError, match="a tuple of 2 tensors"):
        genesis.max(x, 0, out=genesis.empty(0))
    with pytest.raises(TypeError, match="there is one result"):
        genesis.sum(x, 0, out=(genesis.empty(0), genesis.empty(0)))


# What PyTorch documents with out= and the table of operators has as well.
DOCUMENTED = [
    "abs", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr",
    "all", "amax", "amin", "aminmax", "any", "arange", "argmax", "argmin",
    "atan2", "baddbmm", "bernoulli", "bitwise_and", "bmm", "bucketize", "cat", "ceil",
    "clamp", "cos", "cross", "cummax", "cummin", "cumprod", "cumsum", "diag",
    "diff", "div", "dot", "empty", "eq", "erf", "exp", "eye",
    "floor", "fmod", "full", "gather", "ge", "histc", "hstack", "index_add",
    "index_copy", "index_select", "inner", "isin", "kron", "kthvalue", "le", "lerp",
    "linspace", "log", "logcumsumexp", "logit", "logspace", "logsumexp", "lt", "masked_select",
    "matmul", "max", "maximum", "mean", "median", "min", "mm", "mode",
    "mul", "multinomial", "mv", "nan_to_num", "nanmean", "nansum", "ne", "neg",
    "nonzero", "norm", "normal", "ones", "outer", "pow", "prod", "quantile",
    "rand", "randint", "randn", "randperm", "reciprocal", "remainder", "round", "rsqrt",
    "scatter", "scatter_add", "scatter_reduce", "searchsorted", "sigmoid", "sign", "sin", "softmax",
    "sort", "sqrt", "stack", "std", "sub", "sum", "take", "take_along_dim",
    "tanh", "tensordot", "topk", "tril", "triu", "trunc", "var", "vdot",
    "vstack", "where", "xlogy", "zeros",
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTED)
def test_functions_that_pytorch_documents_with_out_take_it(name):
    assert "out" in inspect.signature(getattr(genesis, name)).parameters


def test_named_results_stay_named():
    values, indices = genesis.empty(0), genesis.empty(0, dtype=genesis.int64)
    result = genesis.sort(genesis.tensor([2.0, 1.0]), out=(values, indices))
    assert result.values is values and result.indices is indices
    assert repr(result) == (
        "genesis.return_types.sort(\nvalues=tensor([1., 2.]),\nindices=tensor([1, 0]))"
    )
    assert listed(result) == [values, indices]


def test_an_empty_out_is_untouched_when_the_result_does_not_fit():
    for out in (genesis.empty(0, dtype=genesis.int64), genesis.empty(0, 3, dtype=genesis.bool)):
        shape, version = out.shape, out._version
        with pytest.raises(TypeError, match="cannot be stored"):
            genesis.add(genesis.ones(5), 1.5, out=out)
        assert out.shape == shape and out._version == version


def test_of_several_outs_all_are_checked_first():
    x = genesis.rand(4, 5)
    values, indices = genesis.empty(0), genesis.empty(0, dtype=genesis.bool)
    with pytest.raises(TypeError, match="cannot be stored"):
        genesis.sort(x, out=(values, indices))
    assert values.shape == (0,) and indices.shape == (0,)
    filled, wrong = genesis.full((4, 5), 7.0), genesis.empty(3, dtype=genesis.int64)
    with pytest.raises(ValueError, match="cannot be stored"):
        genesis.sort(x, out=(filled, wrong))
    assert (filled == 7).all()
