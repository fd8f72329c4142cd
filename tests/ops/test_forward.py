"""Every row: every form of the op against its reference, in float64 and float32."""

import numpy as np
import pytest

from tests.ops.op import assert_close, sample_cases, tensor
from tests.ops.table import OPS

CASES = [pytest.param(op, sample, id=i) for op, sample, i in sample_cases(OPS)]


def _compare(op, sample, dtype, forms=None):
    rtol = op.rtol if dtype == op.precise[0] else op.rtol32
    rounded = [a.astype(dtype).astype(np.float64) for a in op.leaves(sample)]
    if op.ref is not None:
        exact = [a.astype(op.precise[0]) for a in rounded]
        expected = op.expected(op.with_arrays(sample, exact))
    for form, function in list(op.forms().items())[:forms]:
        if form.startswith("operator") and sample.kwargs:
            continue
        if form.startswith("Tensor") and not _starts_with_tensor(sample):
            continue
        args, kwargs = op.with_leaves(sample, [tensor(a, dtype) for a in rounded])
        outputs = op.run(function, args, kwargs)
        if op.check is not None:
            op.check(outputs, sample)
        if op.ref is not None:
            assert len(outputs) == len(expected), f"{form}: {len(outputs)} outputs"
            for k, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
                assert_close(actual, wanted, rtol, f"{form}, {sample}, {dtype}, output {k}")


def _starts_with_tensor(sample):
    return bool(sample.args) and isinstance(sample.args[0], np.ndarray)


@pytest.mark.parametrize("op, sample", CASES)
def test_forward_float64(op, sample):
    _compare(op, sample, op.precise[0])


@pytest.mark.parametrize("op, sample", CASES)
def test_forward_float32(op, sample):
    _compare(op, sample, op.precise[1])


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if op.elementwise])
def test_long_input_uses_vector_loops_and_threads(op):
    for dtype in op.precise:
        _compare(op, op.long_sample(), dtype, forms=1)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if op.at])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_values(op, dtype):
    columns = np.array([np.atleast_1d(value) for value in op.at]).T
    # three rounds and a bit: each value is met by the vector loop and by the loop over the tail
    with np.errstate(over="ignore"):
        columns = [np.resize(c, 3 * len(c) + 5).astype(dtype).astype(np.float64) for c in columns]
    outputs = op(*(tensor(c, dtype) for c in columns), **op.kwargs[0])
    with np.errstate(all="ignore"):
        expected = op.ref(*columns, **op.kwargs[0])
        if expected.dtype == np.float64:
            expected = expected.astype(dtype)  # what overflows here must be inf there
    rtol = op.rtol if dtype == "float64" else op.rtol32
    smallest = np.finfo(dtype).tiny  # subnormal results may be flushed
    assert_close(outputs[0], expected, rtol, f"{op.id} at {op.at}", atol=smallest)


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.id) for op in OPS if op.operator and op.scalar]
)
def test_operator_takes_numbers_on_both_sides(op, rng):
    a = op.values(rng, (2, 3))
    for number in (1.5, 2, True):
        assert_close(op.operator(tensor(a), number), op.ref(a, number), op.rtol, f"x, {number}")
        assert_close(op.operator(number, tensor(a)), op.ref(number, a), op.rtol, f"{number}, x")
