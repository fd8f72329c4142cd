"""``grad(is_grads_batched=True)``: one backward pass for a batch of gradients of the outputs."""

import genesis
import numpy as np
import pytest
from genesis import autograd, nn

from tests.ops.op import function_of, sample_cases, tensor, to_numpy
from tests.ops.table import OPS

ROWS = 3


def close(got, want, rtol):
    np.testing.assert_allclose(to_numpy(got), to_numpy(want), rtol=rtol, atol=rtol)


def _cases():
    found = [(op, s, i) for op, s, i in sample_cases(OPS) if op.grad and not op.random]
    return [pytest.param(op, s, id=i) for op, s, i in found]


@pytest.mark.parametrize(("op", "sample"), _cases())
def test_equals_a_pass_for_each(op, sample):
    arrays = op.leaves(sample)
    leaves = [tensor(a, op.precise[0], requires_grad=True) for a in arrays]
    found = function_of(op, sample)(*leaves) if leaves else []
    outputs = [y for y in found if y.requires_grad]
    if not outputs:
        pytest.skip("no gradient")
    genesis.manual_seed(0)
    seeds = [genesis.randn(ROWS, *y.shape).to(y.dtype) for y in outputs]
    got = autograd.grad(
        outputs, leaves, seeds, is_grads_batched=True, retain_graph=True, allow_unused=True
    )
    each = [
        autograd.grad(outputs, leaves, [s[i] for s in seeds], retain_graph=True, allow_unused=True)
        for i in range(ROWS)
    ]
    for k, g in enumerate(got):
        if g is None:
            assert all(row[k] is None for row in each)
            continue
        assert g.shape == (ROWS, *leaves[k].shape)
        want = genesis.stack([row[k] for row in each])
        assert g.dtype == want.dtype
        close(g, want, 1e-9)


def _nodes_run(function):
    """The names of the nodes that backward passes ran, one for each time."""
    with genesis.profiler.profile() as profile:
        function()
    return [e.name for e in profile.events() if e.name.endswith("Backward")]


def _network():
    genesis.manual_seed(0)
    x = genesis.randn(5, dtype=genesis.float64, requires_grad=True)
    w = genesis.randn(4, 5, dtype=genesis.float64, requires_grad=True)
    b = genesis.randn(1, dtype=genesis.float64, requires_grad=True)
    return x, w, b, ((w @ x).tanh() * b + x.sum()).exp()


def test_elementwise_and_matrix_nodes_run_once():
    x = genesis.randn(6, 5, requires_grad=True)
    w = genesis.randn(5, 4, requires_grad=True)
    y = ((x @ w).tanh() * 2).sin()
    seeds = genesis.randn(7, 6, 4)
    calls = _nodes_run(lambda: autograd.grad(y, (x, w), seeds, is_grads_batched=True))
    assert sorted(calls) == ["MatmulBackward", "MulBackward", "SinBackward", "TanhBackward"]


def test_second_derivatives_and_unused():
    x, w, b, y = _network()
    unused = genesis.ones(2, dtype=genesis.float64, requires_grad=True)
    eye = genesis.eye(4, dtype=genesis.float64)
    got = autograd.grad(
        y, (x, w, b, unused), eye, create_graph=True, is_grads_batched=True, allow_unused=True
    )
    assert got[3] is None
    each = [autograd.grad(y, (x, w, b), eye[i], create_graph=True) for i in range(4)]
    for k, g in enumerate(got[:3]):
        want = genesis.stack([row[k] for row in each])
        close(g, want, 1e-12)
        second = autograd.grad((g * g).sum(), (x, w, b), retain_graph=True)
        wanted = autograd.grad((want * want).sum(), (x, w, b), retain_graph=True)
        for s, t in zip(second, wanted, strict=True):
            close(s, t, 1e-12)
    with pytest.raises(RuntimeError, match="input 1 .* was not used"):
        autograd.grad(y, (x, unused), eye, is_grads_batched=True, retain_graph=True)
    zeros = autograd.grad(
        y, (x, unused), eye, is_grads_batched=True, materialize_grads=True, retain_graph=True
    )[1]
    assert zeros.shape == (4, 2)
    assert not zeros.any()


def test_graph_is_released_once():
    x, _, _, y = _network()
    eye = genesis.eye(4, dtype=genesis.float64)
    autograd.grad(y, x, eye, is_grads_batched=True, retain_graph=True)
    autograd.grad(y, x, eye, is_grads_batched=True)
    with pytest.raises(RuntimeError, match="freed by an earlier backward"):
        autograd.grad(y, x, eye, is_grads_batched=True)


def test_hooks_see_every_gradient():
    x = genesis.randn(3, requires_grad=True)
    h = x.sin()
    seen = []
    h.register_hook(lambda g: seen.append(g.clone()) or g * 2)
    seeds = genesis.randn(4, 3)
    (got,) = autograd.grad(h.exp(), x, seeds, is_grads_batched=True, retain_graph=True)
    assert [tuple(g.shape) for g in seen] == [(3,)] * 4
    want = seeds * h.exp() * 2 * x.cos()
    close(got, want.detach(), 1e-5)


def test_functions_and_modules():
    class Cube(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            assert g.ndim == 2
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 3))
    x = genesis.randn(2, 4, requires_grad=True)
    y = Cube.apply(model(x))
    wanted = [x, *model.parameters()]
    seeds = genesis.eye(6).reshape(6, 2, 3)
    got = autograd.grad(y, wanted, seeds, is_grads_batched=True, retain_graph=True)
    for i in range(6):
        row = autograd.grad(y, wanted, seeds[i], retain_graph=True)
        for g, r in zip(got, row, strict=True):
            close(g[i], r, 1e-5)


def test_errors():
    x, _, _, y = _network()
    with pytest.raises(ValueError, match="first dimension is the batch"):
        autograd.grad(y, x, None, is_grads_batched=True)
    with pytest.raises(ValueError, match=r"is_grads_batched=True, gradient 0 has shape \(4, 5\)"):
        autograd.grad(y, x, genesis.ones(4, 5, dtype=y.dtype), is_grads_batched=True)
    table = nn.Embedding(5, 2, sparse=True)
    with pytest.raises(RuntimeError, match="sparse=False"):
        autograd.grad(
            table(genesis.tensor([1, 2])),
            table.weight,
            genesis.ones(3, 2, 2),
            is_grads_batched=True,
        )
