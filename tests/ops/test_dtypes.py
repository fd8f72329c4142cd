"""Every row: each dtype and pair of dtypes gives the declared dtype and the right values."""

import itertools

import numpy as np
import pytest

from tests.ops.op import (
    DTYPES,
    FLOATS,
    Op,
    Sample,
    assert_close,
    cast,
    dtype_name,
    promote,
    tensor,
    to_numpy,
)  # fmt: skip
from tests.ops.table import OPS

# one rounding of the result; the reference is the op itself in float32 on the same inputs
HALF = {"float16": 2e-3, "bfloat16": 1.6e-2}


def _run(op: Op, sample: Sample, dtypes: tuple[str, ...]):
    arrays = [cast(a, d, op) for a, d in zip(op.leaves(sample), dtypes, strict=True)]
    args, kwargs = op.with_leaves(
        sample, [tensor(a, d) for a, d in zip(arrays, dtypes, strict=True)]
    )
    return arrays, op(*args, **kwargs)[0]


def _check(op: Op, sample: Sample, dtypes: tuple[str, ...]) -> None:
    what = f"{op.id}({', '.join(dtypes)})"
    arrays, out = _run(op, sample, dtypes)
    if not hasattr(out, "dtype"):
        return  # a Python number or bool
    wanted = op.result_dtype(promote(*dtypes))
    assert dtype_name(out) == wanted, f"{what}: {dtype_name(out)}, expected {wanted}"
    if op.ref is None:
        return
    if wanted in HALF or any(d in HALF for d in dtypes):
        wide = tuple("float32" if d in HALF else d for d in dtypes)
        args, kwargs = op.with_leaves(
            sample, [tensor(a, d) for a, d in zip(arrays, wide, strict=True)]
        )
        expected = to_numpy(op(*args, **kwargs)[0])
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(to_numpy(out), expected, err_msg=what)
        else:
            rtol = max(HALF[d] for d in (*dtypes, wanted) if d in HALF)
            assert_close(out, expected, rtol, what)
        return
    # NumPy computes small integers in small floats: let it see int64 (or bool, if bool is meant)
    seen = bool if set(dtypes) == {"bool"} and wanted == "bool" else None
    seen = seen or (np.float64 if set(dtypes) & set(FLOATS) else np.int64)
    expected = op.expected(op.with_arrays(sample, [a.astype(seen) for a in arrays]))[0]
    if wanted in FLOATS or wanted.startswith("complex"):
        wide = wanted in ("float64", "complex128")
        assert_close(out, expected, op.rtol if wide else op.rtol32, what)
    else:
        np.testing.assert_array_equal(to_numpy(out), expected.astype(wanted), err_msg=what)


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if not op.random])
def test_every_dtype(op: Op):
    sample = op.all_samples()[0]
    leaves = len(op.leaves(sample))
    for dtype in DTYPES[op.dtypes] if leaves else []:
        _check(op, sample, (dtype,) * leaves)


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.id) for op in OPS if op.elementwise and op.nin == 2]
)
def test_every_pair_of_dtypes(op: Op):
    sample = op.all_samples()[0]
    for pair in itertools.permutations(DTYPES[op.dtypes], 2):
        _check(op, sample, pair)


@pytest.mark.parametrize(
    "op, dtype",
    [
        pytest.param(op, dtype, id=f"{dtype}-{op.id}")
        for dtype in ("float16", "bfloat16", "float32")
        for op in OPS
        if op.grad and dtype in DTYPES[op.dtypes]
    ],
)
def test_gradient_has_the_dtype_of_its_input(op: Op, dtype):
    sample = op.all_samples()[0]
    leaves = [tensor(a, dtype, requires_grad=True) for a in op.leaves(sample)]
    args, kwargs = op.with_leaves(sample, leaves)
    if op.mutates:
        args = (args[0] * 1, *args[1:])  # a leaf may not be changed
    outputs = [out for out in op(*args, **kwargs) if out.requires_grad]
    sum((out.abs() if out.is_complex() else out).float().sum() for out in outputs).backward()
    for leaf in leaves:
        assert leaf.grad is None or (
            leaf.grad.dtype == leaf.dtype and leaf.grad.shape == leaf.shape
        )
