"""Every row: first and second derivative against finite differences, on every sample and layout."""

import pytest
from genesis.autograd import gradcheck

from tests.ops.op import DTYPES, LAYOUTS, layout_cases, sample_cases, tensor
from tests.ops.table import OPS

DIFFERENTIABLE = [op for op in OPS if op.grad]


def _check(op, sample, arrays, views=None):
    views = views or [lambda t: t] * len(arrays)
    form = next(iter(op.forms().values()))

    def function(*leaves):
        viewed = [view(leaf) for view, leaf in zip(views, leaves, strict=True)]
        args, kwargs = op.with_leaves(sample, viewed)
        if op.mutates:
            args = (args[0] * 1, *args[1:])  # a leaf may not be changed
        outputs = op.run(form, args, kwargs)
        return tuple(out for out in outputs if hasattr(out, "is_floating_point"))

    leaves = tuple(tensor(a, requires_grad=True) for a in arrays)
    assert gradcheck(function, leaves, order=2, **op.grad_options)


@pytest.mark.parametrize(
    "op, sample", [pytest.param(op, s, id=i) for op, s, i in sample_cases(DIFFERENTIABLE)]
)
def test_gradient_and_its_gradient(op, sample):
    _check(op, sample, op.leaves(sample))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in DIFFERENTIABLE if op.layouts])
def test_gradient_through_a_view_of_the_input(op, layout):
    sample = op.all_samples()[0]
    _check(op, sample, *layout_cases(op, sample, layout))


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.id) for op in DIFFERENTIABLE if op.operator and op.scalar]
)
def test_gradient_of_the_operator_with_a_number_on_the_left(op, rng):
    x = tensor(op.values(rng, (2, 3)), requires_grad=True)
    assert gradcheck(lambda t: op.operator(1.5, t), x, order=2)


@pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.id) for op in OPS if not (op.grad or op.mutates)]
)
def test_what_has_no_gradient_says_so(op):
    """The result of a non-differentiable op does not pretend to be part of a graph."""
    sample = op.all_samples()[0]
    leaves = [tensor(a) for a in op.leaves(sample)]
    if "float64" in DTYPES[op.dtypes]:
        leaves = [leaf.requires_grad_() for leaf in leaves]
    else:
        leaves = [leaf.long() for leaf in leaves]
    args, kwargs = op.with_leaves(sample, leaves)
    for out in op(*args, **kwargs):
        assert not getattr(out, "requires_grad", False)
