"""Every operator on the meta device: the shapes, strides and dtypes that it has on the CPU."""

import genesis
import pytest

from tests.ops.op import Op, listed, tensor
from tests.ops.table import OPS

# The shape of the result depends on values, or the result is no tensor.
DATA_DEPENDENT = {
    "allclose",
    "argwhere",
    "bincount",
    "has_inf",
    "has_nan",
    "masked_select",
    "nonzero",
    "unique",
    "unique_consecutive",
}
# In some forms.
VALUES = {
    "__getitem__",
    "equal",
    "histogram",
    "index_put",
    "masked_scatter",
    "nn.functional.ctc_loss",
    "nn.functional.embedding_bag",
    "embedding_bag",
    "one_hot",
    "nonzero_static",
    "repeat_interleave",
    "segment_reduce",
    "tensor_split",
    "to",
}


def described(outputs):
    return [
        (tuple(t.shape), t.dtype, t.stride(), t.requires_grad)
        for t in outputs
        if isinstance(t, genesis.Tensor)
    ]


def leaves_of(op, sample, device):
    return [tensor(a, op.precise[0]).to(device).requires_grad_(op.grad) for a in op.leaves(sample)]


def total_of(tensors):
    return sum((genesis.view_as_real(t) if t.is_complex() else t).sum() for t in tensors)


def run(op, sample, device):
    leaves = leaves_of(op, sample, device)
    args, kwargs = op.with_leaves(
        sample,
        leaves if not op.mutates else [x.clone() for x in leaves],
        lambda a: tensor(a).to(device),
    )
    with genesis.device(device):  # of what the row itself makes
        outputs = op(*args, **kwargs)
    tracked = [y for y in outputs if isinstance(y, genesis.Tensor) and y.requires_grad]
    grads = []
    if op.grad and tracked:
        grads = genesis.autograd.grad(
            total_of(tracked), leaves, create_graph=True, allow_unused=True
        )
        again = [g for g in grads if g is not None and g.requires_grad]
        if again:
            second = genesis.autograd.grad(total_of(again), leaves, allow_unused=True)
            grads = [*grads, *second]
    return outputs, listed([g for g in grads if g is not None])


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.id)
def test_shapes(op: Op) -> None:
    for sample in op.all_samples():
        if op.name in DATA_DEPENDENT:
            with pytest.raises(NotImplementedError):
                run(op, sample, "meta")
            continue
        outputs, grads = run(op, sample, "cpu")
        try:
            meta_outputs, meta_grads = run(op, sample, "meta")
        except NotImplementedError:
            if op.name not in VALUES:
                raise
            continue
        what = f"{op.id} {sample}"
        made_here = not op.leaves(sample)  # a factory: its device is that of its arguments
        for t in [*meta_outputs, *meta_grads]:
            assert made_here or not isinstance(t, genesis.Tensor) or t.is_meta, what
        assert described(meta_outputs) == described(outputs), what
        assert described(meta_grads) == described(grads), what


def test_the_cpu_computes_afterwards() -> None:
    kept = genesis.empty(2, device="meta")
    x = genesis.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert kept.is_meta
