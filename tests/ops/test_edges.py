"""Edge cases in which an operator once differed from PyTorch: shapes, errors, values, gradients."""

import math

import genesis
import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = "nn.functional"


def _results(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _agree(function):
    """The function of a library gives results of the same shape, dtype and values in both."""
    ours, theirs = _results(function(genesis)), _results(function(torch))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype).rpartition(".")[2] == str(b.dtype).rpartition(".")[2]
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("q", [0.5, [0.25, 0.5]])
@pytest.mark.parametrize(
    "options", [{}, {"dim": 0}, {"keepdim": True}, {"dim": 0, "keepdim": True}]
)
def test_quantile_of_one_number(name, q, options):
    _agree(
        lambda L: getattr(L, name)(
            L.tensor(1.5), q if isinstance(q, float) else L.tensor(q), **options
        )
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "bool"])
@pytest.mark.parametrize("name", ["gather", "index_select"])
def test_indices_are_int32_or_int64(name, dtype):
    for library in (genesis, torch):
        index = library.tensor([0, 1, 1]).to(getattr(library, dtype))
        with pytest.raises(RuntimeError, match="index"):
            getattr(library, name)(library.ones(3), 0, index)


HUGE = [1e30, -1e30, math.nan, math.inf, -math.inf, 3e9, -3e9, 300.0, -1.5, -129.0, 70000.0]


@pytest.mark.parametrize("length", [1, 11, 50, 1000])
@pytest.mark.parametrize("to", ["int8", "uint8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_floats_that_no_integer_can_hold(dtype, to, length):
    values = (HUGE * length)[:length]
    _agree(lambda L: L.tensor(values, dtype=getattr(L, dtype)).to(getattr(L, to)))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape, target", [((), 0), ((), [0]), ((2,), 1), ((2,), [1])])
def test_multi_margin_loss_without_a_batch(reduction, shape, target):
    def loss(library):
        x = library.full(shape, 0.5, requires_grad=True)
        y = library.nn.functional.multi_margin_loss(x, library.tensor(target), reduction=reduction)
        return y, *library.autograd.grad(y.sum(), x)

    _agree(loss)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape, target", [((), 0), ((), -1), ((2,), [1, -1])])
def test_multilabel_margin_loss_without_a_batch(reduction, shape, target):
    _agree(
        lambda L: L.nn.functional.multilabel_margin_loss(
            L.full(shape, 0.5), L.tensor(target), reduction=reduction
        )
    )


def test_vander_of_one_number():
    _agree(lambda L: L.linalg.vander(L.tensor(2.0), N=3))


@pytest.mark.parametrize("part", ["U", "S", "Vh"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 2, 4)])
def test_full_svd_of_long_matrices(shape, part):
    values = np.random.default_rng(3).normal(size=shape)

    def run(library):
        a = library.tensor(values, dtype=library.float64, requires_grad=True)
        y = library.linalg.svd(a, full_matrices=True)
        scale = library.arange(1, getattr(y, part).shape[-1] + 1, dtype=library.float64)
        (grad,) = library.autograd.grad((getattr(y, part).abs() * scale).sum(), a)
        return y.U.abs(), y.S, y.Vh.abs(), grad

    _agree(run)


def test_zeta_at_poles():
    s = [2.0, 3.0, 2.5, 1.0, 0.5, -1.0, math.inf]
    x = [0.0, -0.0, -1.0, -2.0, -0.5, -1.5, 1.0, math.inf, -math.inf]
    _agree(lambda L: L.special.zeta(L.tensor(s)[:, None], L.tensor(x)))


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_nothing(training):
    def run(library):
        x, none = library.ones(0, requires_grad=True), library.zeros(0)
        y = library.nn.functional.batch_norm(x, none, none, training=training)
        return y, *library.autograd.grad(y.sum(), x)

    _agree(run)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("normalised", [True, False])
def test_gradient_of_ctc_loss(normalised, reduction):
    values = np.random.default_rng(4).normal(size=(6, 2, 4))

    def run(library):
        x = library.tensor(values, dtype=library.float64, requires_grad=True)
        loss = library.nn.functional.ctc_loss(
            x.log_softmax(-1) if normalised else x,
            library.tensor([[1, 2, 2], [3, 1, 0]]),
            library.tensor([6, 5]),
            library.tensor([3, 2]),
            reduction=reduction,
        )
        return loss, *library.autograd.grad(loss.sum(), x)

    _agree(run)
