"""Dropout layers: what they zero, how they scale, and that eval mode leaves all as it is."""

import genesis
import pytest
from genesis import nn
from genesis.nn import functional as F

LAYERS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]
SHAPES = {"Dropout1d": (20, 50, 3), "Dropout2d": (20, 50, 3, 2), "Dropout3d": (20, 50, 3, 2, 2)}


def shape_of(name):
    return SHAPES.get(name, (20, 50, 4))


@pytest.mark.parametrize("name", LAYERS)
def test_text_and_arguments(name):
    torch = pytest.importorskip("torch")
    for args in ((), (0.2,), (0.2, True)):
        assert repr(getattr(nn, name)(*args)) == repr(getattr(torch.nn, name)(*args))
    for p in (-0.1, 1.5):
        with pytest.raises(ValueError, match="has to be between 0 and 1"):
            getattr(nn, name)(p)


@pytest.mark.parametrize("name", LAYERS)
def test_eval_mode_and_probability_zero_change_nothing(name):
    x = genesis.randn(*shape_of(name))
    assert genesis.equal(getattr(nn, name)().eval()(x), x)
    assert genesis.equal(getattr(nn, name)(0.0)(x), x)


@pytest.mark.parametrize("name", ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"])
def test_elements_or_channels_are_zeroed_and_the_rest_scaled(name):
    genesis.manual_seed(1)
    x = genesis.ones(*shape_of(name), requires_grad=True)
    y = getattr(nn, name)(0.25)(x)
    values = y.detach()
    assert sorted(set(values.flatten().tolist())) == [0.0, pytest.approx(4 / 3)]
    assert abs((values == 0).float().mean().item() - 0.25) < 0.05
    if name != "Dropout":
        channel = values.flatten(2)
        assert genesis.equal(channel, channel[:, :, :1].expand(channel.shape))
    y.sum().backward()
    assert genesis.equal(x.grad, values)
    assert not getattr(nn, name)(1.0)(x).any()
    z = genesis.ones(*shape_of(name))
    assert getattr(nn, name)(0.25, inplace=True)(z) is z and (z == 0).any()


@pytest.mark.parametrize("name", ["AlphaDropout", "FeatureAlphaDropout"])
def test_alpha_dropout_keeps_mean_and_variance(name):
    genesis.manual_seed(2)
    x = genesis.randn(2000, 60)
    y = getattr(nn, name)(0.3)(x)
    assert abs(y.mean().item()) < 0.02 and abs(y.var().item() - 1) < 0.03
    assert not getattr(nn, name)(1.0)(x).any()
    z = x.clone()
    assert getattr(nn, name)(0.3, inplace=True)(z) is z and not genesis.equal(x, z)


def test_channels_of_one_sample():
    genesis.manual_seed(3)
    y = F.dropout1d(genesis.ones(50, 3))
    assert sorted(set(y.sum(1).tolist())) == [0.0, 6.0]
    y = F.dropout3d(genesis.ones(50, 1, 2, 2))
    assert sorted(set(y.sum((1, 2, 3)).tolist())) == [0.0, 8.0]
    with pytest.warns(UserWarning, match="channel-wise 1D dropout"):
        F.dropout2d(genesis.ones(2, 3, 4))
    for function in (F.dropout1d, F.dropout2d, F.dropout3d):
        with pytest.raises(ValueError, match="single elements"):
            function(genesis.ones(3))


@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float64, genesis.bfloat16])
@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 1023, 1025, 40_001])
def test_the_gradient_passes_where_the_value_did(size, dtype):
    genesis.manual_seed(4)
    x = genesis.ones(size, dtype=dtype, requires_grad=True)
    y = F.dropout(x, 0.3)
    dy = genesis.arange(size, dtype=genesis.float64).to(dtype)
    (dx,) = genesis.autograd.grad(y, x, dy, create_graph=True)
    scale = genesis.tensor(1 / 0.7, dtype=dtype)
    expected = genesis.where(y == 0, 0.0, dy.double() / 0.7)
    assert genesis.allclose(dx.double(), expected, rtol=1e-2 if dtype == genesis.bfloat16 else 1e-6)
    assert ((y == 0) | (y == scale)).all()


def test_the_gradient_of_the_gradient_uses_the_same_zeros():
    genesis.manual_seed(5)
    x = genesis.randn(70, 3).t().requires_grad_()
    y = F.dropout(x, 0.5)
    dy = genesis.randn(3, 70, requires_grad=True)
    (dx,) = genesis.autograd.grad(y, x, dy, create_graph=True)
    (back,) = genesis.autograd.grad(dx, dy, genesis.ones(3, 70))
    assert genesis.equal(back == 0, y == 0) and 60 < (back == 2).sum().item() < 150


def test_what_backward_keeps_is_a_bit_for_each_element():
    x = genesis.randn(1 << 18, requires_grad=True)
    before = genesis.memory.allocated()
    y = F.dropout(x, 0.5)
    kept = genesis.memory.allocated() - before - y.numel() * 4
    assert kept <= (1 << 18) // 8 + 4096
