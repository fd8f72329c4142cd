"""nn.init: the distributions, by their moments and bounds, and what is exact, exactly."""

import math

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.nn import init
from scipy import stats

BIG = (200, 300)


def draw(function, *args, shape=BIG, **kwargs):
    genesis.manual_seed(5)
    tensor = genesis.empty(shape, requires_grad=True)
    assert function(tensor, *args, **kwargs) is tensor
    assert tensor.is_leaf and tensor.requires_grad
    return tensor.detach().double().numpy()


def assert_distributed(values, cdf):
    assert stats.kstest(values.ravel(), cdf).pvalue > 1e-3


def test_calculate_gain_is_that_of_torch():
    torch = pytest.importorskip("torch")
    for name in (
        "linear",
        "conv1d",
        "conv3d",
        "conv_transpose2d",
        "sigmoid",
        "tanh",
        "relu",
        "selu",
    ):
        assert init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    for slope in (None, 0.2, 3):
        ours = init.calculate_gain("leaky_relu", slope)
        assert ours == torch.nn.init.calculate_gain("leaky_relu", slope)
    with pytest.raises(ValueError, match="must be a number"):
        init.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError, match="unknown nonlinearity 'swish'"):
        init.calculate_gain("swish")


def test_uniform_and_normal():
    assert_distributed(draw(init.uniform_, -2.0, 3.0), stats.uniform(-2, 5).cdf)
    assert_distributed(draw(init.normal_, 1.0, 0.5), stats.norm(1, 0.5).cdf)
    assert_distributed(draw(init.uniform_), stats.uniform(0, 1).cdf)
    assert_distributed(draw(init.normal_), stats.norm(0, 1).cdf)


@pytest.mark.parametrize("mean, std, a, b", [(0, 1, -2, 2), (1, 2, 0, 0.5), (0.5, 0.1, -1, 0.6)])
def test_trunc_normal(mean, std, a, b):
    values = draw(init.trunc_normal_, mean, std, a, b)
    assert values.min() >= a and values.max() <= b
    law = stats.truncnorm((a - mean) / std, (b - mean) / std, mean, std)
    assert_distributed(values, law.cdf)


def test_trunc_normal_warns_far_outside():
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(genesis.empty(3), mean=9.0)


@pytest.mark.parametrize("shape, fans", [((200, 300), (300, 200)), ((20, 30, 3, 5), (450, 300))])
def test_xavier_and_kaiming_scale_by_the_fans(shape, fans):
    fan_in, fan_out = fans
    bound = 2 * math.sqrt(6 / (fan_in + fan_out))
    values = draw(init.xavier_uniform_, 2.0, shape=shape)
    assert_distributed(values, stats.uniform(-bound, 2 * bound).cdf)
    std = 2 * math.sqrt(2 / (fan_in + fan_out))
    assert_distributed(draw(init.xavier_normal_, 2.0, shape=shape), stats.norm(0, std).cdf)
    for mode, fan in (("fan_in", fan_in), ("fan_out", fan_out)):
        for name, a, gain in (("relu", 0, math.sqrt(2)), ("leaky_relu", 1, 1.0)):
            options = {"a": a, "mode": mode, "nonlinearity": name, "shape": shape}
            bound = gain * math.sqrt(3 / fan)
            values = draw(init.kaiming_uniform_, **options)
            assert_distributed(values, stats.uniform(-bound, 2 * bound).cdf)
            values = draw(init.kaiming_normal_, **options)
            assert_distributed(values, stats.norm(0, gain / math.sqrt(fan)).cdf)


def test_fans_need_two_dimensions():
    for function in (init.xavier_uniform_, init.kaiming_normal_):
        with pytest.raises(ValueError, match="at least 2 dimensions is needed"):
            function(genesis.empty(3))
    with pytest.raises(ValueError, match="'fan_in' or 'fan_out'"):
        init.kaiming_uniform_(genesis.empty(2, 2), mode="fan")
    with pytest.warns(UserWarning, match="zero-element"):
        init.kaiming_uniform_(genesis.empty(0, 2))


def test_constants_and_identities_are_those_of_torch():
    torch = pytest.importorskip("torch")
    cases = [
        ("constant_", (2, 3), (0.3,)), ("ones_", (2,), ()), ("zeros_", (2,), ()),
        ("eye_", (3, 5), ()), ("eye_", (4, 2), ()), ("dirac_", (3, 5, 4), ()),
        ("dirac_", (6, 2, 3, 3), (3,)), ("dirac_", (4, 2, 3, 2, 5), (2,)),
    ]  # fmt: skip
    for name, shape, args in cases:
        ours = getattr(init, name)(genesis.full(shape, 9.0), *args).numpy()
        theirs = getattr(torch.nn.init, name)(torch.full(shape, 9.0), *args).numpy()
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="only 2-d"):
        init.eye_(genesis.empty(2))
    with pytest.raises(ValueError, match="only 3-d, 4-d and 5-d"):
        init.dirac_(genesis.empty(2, 2))
    with pytest.raises(ValueError, match="must be divisible by 2"):
        init.dirac_(genesis.empty(3, 2, 2), groups=2)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3)])
def test_orthogonal(shape):
    q = draw(init.orthogonal_, 2.0, shape=shape).reshape(shape[0], -1)
    gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-5)
    assert init.orthogonal_(genesis.empty(0, 3)).numel() == 0
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        init.orthogonal_(genesis.empty(3))


def test_sparse():
    values = draw(init.sparse_, 0.25, 0.1, shape=(40, 100))
    assert ((values == 0).sum(0) == 10).all()
    assert_distributed(values[values != 0], stats.norm(0, 0.1).cdf)
    with pytest.raises(ValueError, match="only 2-d"):
        init.sparse_(genesis.empty(3), 0.1)


def test_generators_are_used():
    for function, args in (
        (init.uniform_, ()), (init.normal_, ()), (init.trunc_normal_, ()),
        (init.xavier_uniform_, ()), (init.kaiming_normal_, ()), (init.orthogonal_, ()),
        (init.sparse_, (0.5,)),
    ):  # fmt: skip
        drawn = [
            function(genesis.empty(4, 4), *args, generator=genesis.Generator().manual_seed(3))
            for _ in range(2)
        ]
        assert genesis.equal(*drawn), function.__name__


def test_old_names_warn():
    for name in ("uniform", "normal", "eye", "xavier_uniform", "kaiming_normal", "orthogonal"):
        with pytest.warns(FutureWarning, match=f"nn.init.{name} is now deprecated"):
            getattr(init, name)(genesis.empty(2, 2))


def test_layers_begin_as_those_of_torch():
    genesis.manual_seed(5)
    linear = nn.Linear(100, 400)
    for values in (linear.weight, linear.bias):
        assert_distributed(values.detach().numpy(), stats.uniform(-0.1, 0.2).cdf)
    bilinear = nn.Bilinear(25, 20, 40)
    for values in (bilinear.weight, bilinear.bias):
        assert_distributed(values.detach().numpy(), stats.uniform(-0.2, 0.4).cdf)
    table = nn.Embedding(100, 50, padding_idx=3).weight.detach().numpy()
    assert_distributed(np.delete(table, 3, 0), stats.norm(0, 1).cdf)
    assert not table[3].any()
