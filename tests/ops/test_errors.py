"""Every row: bad arguments are refused at once, with a text that helps."""

import numpy as np
import pytest

from tests.ops.op import Op, Sample, tensor
from tests.ops.table import OPS

RAISES = [
    pytest.param(op, *case, id=f"{op.id}-{i}") for op in OPS for i, case in enumerate(op.raises)
]


@pytest.mark.parametrize("op, args, kwargs, exception, text", RAISES)
def test_bad_arguments(op: Op, args, kwargs, exception, text):
    sample = Sample(*args, **kwargs)
    made, named = op.with_leaves(sample, [tensor(a) for a in op.leaves(sample)])
    with pytest.raises(exception, match=text):
        op(*made, **named)


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.id) for op in OPS if op.elementwise and op.nin > 1]
)
def test_shapes_that_do_not_broadcast(op: Op):
    shapes = [(2, 3), (4,)] + [()] * (op.nin - 2)
    args = [tensor(np.full(shape, (op.low + op.high) / 2), op.precise[0]) for shape in shapes]
    with pytest.raises(ValueError, match=op.called or op.name) as caught:
        op(*args, **op.kwargs[0])
    assert "(2, 3)" in str(caught.value) and "(4,)" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)  # what PyTorch's users catch


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS if op.elementwise])
def test_what_is_not_a_tensor(op: Op):
    # A row without a function calls the method of the text, which has none.
    method_only = all(form.startswith("Tensor") for form in op.forms())
    with pytest.raises(AttributeError if method_only else TypeError):
        op(*["text"] * op.nin, **op.kwargs[0])
