"""Every row: the layout of the inputs does not change the result; views share memory."""

import numpy as np
import pytest

from tests.ops.op import LAYOUTS, Op, Sample, layout_cases, tensor, to_numpy
from tests.ops.table import OPS


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if op.layouts])
def test_layout_does_not_matter(op: Op, layout):
    for sample in op.all_samples():
        bases, views = layout_cases(op, sample, layout)
        for dtype in op.precise:
            laid_out = [view(tensor(b, dtype)) for b, view in zip(bases, views, strict=True)]
            plain = [tensor(to_numpy(t).copy(order="C")) for t in laid_out]
            args, kwargs = op.with_leaves(sample, laid_out)
            expected_args, expected_kwargs = op.with_leaves(sample, plain)
            outputs, expected = op(*args, **kwargs), op(*expected_args, **expected_kwargs)
            for out, wanted in zip(outputs, expected, strict=True):
                # not bitwise: a sum over another order of memory may round in another way
                rtol = op.rtol if dtype == op.precise[0] else op.rtol32
                np.testing.assert_allclose(
                    to_numpy(out),
                    to_numpy(wanted),
                    rtol=rtol,
                    atol=rtol,
                    err_msg=f"{sample}, {dtype}",
                )


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if op.view])
def test_a_view_shares_memory_with_its_input(op: Op):
    for sample in op.all_samples():
        args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in op.leaves(sample)])
        outputs = op(*args, **kwargs)
        for k, out in enumerate(outputs):
            source = args[k] if op.view == "each" else args[0]
            shared = np.shares_memory(to_numpy(out), to_numpy(source))
            assert shared or not out.numel(), sample


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if not op.view])
def test_what_is_not_a_view_owns_its_memory(op: Op):
    sample: Sample = op.all_samples()[0]
    args, kwargs = op.with_leaves(sample, [tensor(a, op.precise[0]) for a in op.leaves(sample)])
    inputs = [a for a in args if hasattr(a, "numel")]
    for out in op(*args, **kwargs):
        if hasattr(out, "numel"):
            assert not any(np.shares_memory(to_numpy(out), to_numpy(a)) for a in inputs)
