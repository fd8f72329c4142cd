"""Rows that declare complex numbers: values, derivatives to second order, and PyTorch's gradients."""

import os
import warnings

import genesis
import numpy as np
import pytest
from genesis.autograd import gradcheck

from tests.ops.op import Op, Sample, assert_close, listed, tensor
from tests.ops.table import OPS

COMPLEX = [op for op in OPS if op.complex]
MOST = 4  # samples of a row


def _cases(ops):
    return [
        pytest.param(op, sample, id=f"{op.id}-{i}")
        for op in ops
        for i, sample in enumerate(op.all_samples()[:MOST])
        if op.leaves(sample)
    ]


@pytest.mark.parametrize("op, sample", _cases(COMPLEX))
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_forward(op: Op, sample: Sample, dtype: str):
    leaves = [a.astype(dtype) for a in op.complex_leaves(sample)]
    exact = [a.astype("complex128") for a in leaves]
    expected = op.expected(op.with_arrays(sample, exact))
    rtol = max(op.rtol, 1e-10) if dtype == "complex128" else 5 * op.rtol32
    for form, function in op.forms().items():
        if form.startswith("operator") and sample.kwargs:
            continue
        if form.startswith("Tensor") and not isinstance(sample.args[0], np.ndarray):
            continue
        args, kwargs = op.with_leaves(sample, [tensor(a) for a in leaves])
        outputs = op.run(function, args, kwargs)
        for out, wanted in zip(outputs, expected, strict=True):
            assert_close(out, wanted, rtol, f"{form}, {sample}, {dtype}")


@pytest.mark.parametrize("op, sample", _cases([op for op in COMPLEX if op.grad]))
def test_gradient_and_its_gradient(op: Op, sample: Sample):
    form = next(iter(op.forms().values()))

    def function(*leaves):
        args, kwargs = op.with_leaves(sample, leaves)
        outputs = op.run(form, args, kwargs)
        return tuple(out for out in outputs if isinstance(out, genesis.Tensor))

    leaves = tuple(tensor(a, requires_grad=True) for a in op.complex_leaves(sample))
    assert gradcheck(function, leaves, order=2, **op.grad_options)


@pytest.mark.parametrize("op, sample", _cases([op for op in COMPLEX if not op.unlike_torch]))
def test_same_as_torch(op: Op, sample: Sample):
    torch = pytest.importorskip("torch")
    from tests.ops.test_torch import _to_torch, _torch_function

    function = _torch_function(op)
    if function is None:
        pytest.skip("PyTorch has no such function")
    arrays = op.complex_leaves(sample)
    ours = [tensor(a, requires_grad=op.grad) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=op.grad) for a in arrays]
    args, kwargs = op.with_leaves(sample, ours)
    outputs = op(*args, **kwargs)
    args, kwargs = op.with_leaves(sample, theirs, other=torch.tensor)
    args, kwargs = tuple(map(_to_torch, args)), {k: _to_torch(v) for k, v in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        called = op.wrap(function) if op.wrap else function
        expected = listed(called(*args, **kwargs))
    for k, (out, wanted) in enumerate(zip(outputs, expected, strict=True)):
        np.testing.assert_allclose(
            out.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-11
        )
        if not wanted.requires_grad:
            continue
        rng = np.random.default_rng(k)
        seed = rng.normal(size=tuple(wanted.shape))
        if wanted.is_complex():
            seed = seed + 1j * rng.normal(size=tuple(wanted.shape))
        ours_grad = genesis.autograd.grad(
            out, ours, tensor(np.asarray(seed)), retain_graph=True, allow_unused=True
        )
        theirs_grad = torch.autograd.grad(
            wanted, theirs, torch.tensor(seed), retain_graph=True, allow_unused=True
        )
        for a, b in zip(ours_grad, theirs_grad, strict=True):
            if a is None or b is None:
                assert all(g is None or not g.any() for g in (a, b))
            else:
                np.testing.assert_allclose(
                    a.numpy(), b.resolve_conj().numpy(), rtol=1e-8, atol=1e-10
                )


UNDEFINED = [
    "amax", "amin", "argmax", "argmin", "argsort", "atan2", "bitwise_and", "ceil", "clamp", "cummax",
    "cdist", "cummin", "digamma", "erf", "floor", "floor_divide", "fmod", "frac", "ge", "gt", "hypot", "le",
    "lgamma", "lt", "nansum", "max", "maximum", "median", "min", "minimum", "relu",
    "remainder", "round", "sign", "softmax", "sort", "topk", "trunc",
]  # fmt: skip


if "GENESIS_TEST_OPS" in os.environ:
    UNDEFINED = [name for name in UNDEFINED if name in {op.name for op in OPS}]


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_not_defined_says_so(name):
    op = next(op for op in OPS if op.name == name)
    sample = next(s for s in op.all_samples() if op.leaves(s))
    leaves = op.complex_leaves(sample) or [np.ones(2, np.complex128)]
    args, kwargs = op.with_leaves(sample, [tensor(a) for a in leaves])
    with pytest.raises((TypeError, RuntimeError), match=rf"{name}.*complex") as error:
        op(*args, **kwargs)
    assert isinstance(error.value, TypeError)


def test_numbers_and_lines():
    assert float(genesis.tensor(2 + 0j)) == 2.0
    assert int(genesis.tensor(2 + 0j)) == 2
    with pytest.raises(TypeError, match="complex"):
        float(genesis.tensor(2 + 1j))
    line = genesis.linspace(1, 1 + 2j, 3)
    assert line.dtype == genesis.complex64
    np.testing.assert_allclose(line.numpy(), [1, 1 + 1j, 1 + 2j])
    with pytest.raises(TypeError, match="linspace: dtype must be complex"):
        genesis.linspace(0, 1j, 3, dtype=genesis.float32)


def test_the_gradient_of_the_angle_of_a_real_nan_is_zero():
    x = genesis.tensor([float("nan"), -1.0, 2.0], requires_grad=True)
    x.angle().backward(genesis.ones(3))
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
