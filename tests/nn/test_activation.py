"""Activations as layers, next to PyTorch's, and what the rows of the op table do not say."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn import functional as F

from tests.nn.against_torch import compare

LAYERS = [
    lambda nn: nn.ReLU(), lambda nn: nn.ReLU6(), lambda nn: nn.Sigmoid(), lambda nn: nn.Tanh(),
    lambda nn: nn.LeakyReLU(), lambda nn: nn.LeakyReLU(0.2), lambda nn: nn.ELU(),
    lambda nn: nn.ELU(0.5), lambda nn: nn.CELU(0.5), lambda nn: nn.SELU(), lambda nn: nn.GELU(),
    lambda nn: nn.GELU("tanh"), lambda nn: nn.SiLU(), lambda nn: nn.Mish(),
    lambda nn: nn.Hardtanh(), lambda nn: nn.Hardtanh(-0.5, 0.25), lambda nn: nn.Hardsigmoid(),
    lambda nn: nn.Hardswish(), lambda nn: nn.Hardshrink(), lambda nn: nn.Hardshrink(0.2),
    lambda nn: nn.Softshrink(), lambda nn: nn.Softshrink(0.2), lambda nn: nn.Softplus(),
    lambda nn: nn.Softplus(2.0, 1.0), lambda nn: nn.Softsign(), lambda nn: nn.Tanhshrink(),
    lambda nn: nn.LogSigmoid(), lambda nn: nn.Threshold(0.1, 20.0), lambda nn: nn.PReLU(),
    lambda nn: nn.PReLU(3, 0.1), lambda nn: nn.RReLU().eval(), lambda nn: nn.RReLU(0.1, 0.2).eval(),
    lambda nn: nn.GLU(0), lambda nn: nn.GLU(), lambda nn: nn.Softmax(1), lambda nn: nn.Softmin(-1),
    lambda nn: nn.LogSoftmax(0), lambda nn: nn.Softmax2d(),
]  # fmt: skip
INPLACE = [
    lambda nn: nn.ReLU(True), lambda nn: nn.ReLU6(True), lambda nn: nn.LeakyReLU(0.2, True),
    lambda nn: nn.ELU(0.5, True), lambda nn: nn.CELU(0.5, True), lambda nn: nn.SELU(True),
    lambda nn: nn.SiLU(True), lambda nn: nn.Mish(True), lambda nn: nn.Hardtanh(-0.5, 0.25, True),
    lambda nn: nn.Hardsigmoid(True), lambda nn: nn.Hardswish(True),
    lambda nn: nn.Threshold(0.1, 20.0, True), lambda nn: nn.RReLU(0.1, 0.2, True).eval(),
]  # fmt: skip


def named(builders):
    return [pytest.param(b, id=repr(b(nn))) for b in builders]


@pytest.mark.parametrize("build", named(LAYERS))
def test_as_in_torch(build, rng):
    compare(build, rng.normal(size=(2, 3, 5, 4)) * 3)


def test_every_activation_of_torch_is_here():
    torch = pytest.importorskip("torch")
    names = set(torch.nn.modules.activation.__all__) - {"MultiheadAttention"}
    assert names <= set(nn.__all__)
    tested = {type(build(nn)).__name__ for build in LAYERS}
    assert names == tested


@pytest.mark.parametrize("build", named(INPLACE))
def test_in_place(build, rng):
    torch = pytest.importorskip("torch")
    assert repr(build(nn)) == repr(build(torch.nn))
    a = (rng.normal(size=(4, 5)) * 3).astype("f")
    x = genesis.tensor(a)
    assert build(nn)(x) is x
    np.testing.assert_allclose(x.numpy(), build(torch.nn)(torch.tensor(a)).numpy(), 1e-5, 1e-6)
    x, z = genesis.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    (build(nn)(x * 1) ** 2).sum().backward(), (build(torch.nn)(z * 1) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), z.grad.numpy(), 1e-4, 1e-5)
    with pytest.raises(RuntimeError, match="leaf tensor that requires grad"):
        build(nn)(x)


@pytest.mark.parametrize(
    "name, args",
    [("relu_", ()), ("elu_", (0.5,)), ("selu_", ()), ("celu_", (0.5,)), ("leaky_relu_", (0.2,)),
     ("threshold_", (0.1, 3.0)), ("hardtanh_", (-0.5, 0.5)), ("rrelu_", (0.1, 0.2))],
)  # fmt: skip
def test_functions_that_work_in_place(name, args, rng):
    x = genesis.tensor(rng.normal(size=(3, 4)))
    expected = getattr(F, name.rstrip("_"))(x, *args)
    version = x._version
    assert getattr(F, name)(x, *args) is x and x._version > version
    assert genesis.equal(x, expected)


def test_rrelu_draws_slopes_in_training(rng):
    genesis.manual_seed(0)
    layer = nn.RReLU(0.2, 0.4)
    x = genesis.full((1000,), -1.0, requires_grad=True)
    y = layer(x)
    assert y.min() >= -0.4 and y.max() <= -0.2 and y.std() > 0.04
    y.sum().backward()
    assert genesis.equal(x.grad, -y.detach())
    z = genesis.full((1000,), -1.0)
    assert F.rrelu(z, 0.2, 0.4, True, inplace=True) is z and z.max() <= -0.2


def test_gumbel_softmax_draws_from_the_distribution():
    genesis.manual_seed(0)
    logits = genesis.tensor([0.1, 0.2, 0.7]).log().expand(20000, 3).clone().requires_grad_()
    y = F.gumbel_softmax(logits, hard=True)
    rounded = y.detach().round()
    assert genesis.equal(rounded.sum(-1), genesis.ones(20000))
    assert genesis.allclose(rounded.mean(0), genesis.tensor([0.1, 0.2, 0.7]), atol=0.02)
    (y * genesis.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad.abs().sum() > 0  # that of the soft values


def test_softmax_without_a_dimension_warns():
    torch = pytest.importorskip("torch")
    for shape in ((3,), (2, 3), (2, 3, 4)):
        a = np.random.default_rng(0).normal(size=shape).astype("f")
        with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
            ours = nn.Softmax()(genesis.tensor(a)).numpy()
        with pytest.warns(UserWarning):
            theirs = torch.nn.Softmax()(torch.tensor(a)).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    y = F.softmax(genesis.ones(2, dtype=genesis.float16), 0, dtype=genesis.float64)
    assert y.dtype == genesis.float64


def test_prelu_is_differentiable_twice_also_in_its_weight(rng):
    x = genesis.tensor(rng.normal(size=(2, 3, 2)), dtype=genesis.float64, requires_grad=True)
    for size in (1, 3):
        w = genesis.tensor(rng.normal(size=size), dtype=genesis.float64, requires_grad=True)
        assert gradcheck(F.prelu, (x, w), order=2)


def test_a_weight_of_prelu_learns_nothing_from_infinity():
    x, w = genesis.tensor([np.inf, -1.0]), genesis.tensor([0.5], requires_grad=True)
    F.prelu(x, w).sum().backward()
    assert w.grad.item() == -1.0


@pytest.mark.parametrize(
    "name, args, at, expected",
    [("relu6", (), [0.0, 6.0], [0, 0]), ("hardtanh", (), [-1.0, 1.0], [0, 0]),
     ("hardsigmoid", (), [-3.0, 3.0], [0, 0]), ("hardswish", (), [-3.0, 3.0], [0, 1]),
     ("hardshrink", (), [-0.5, 0.5], [0, 0]), ("softshrink", (), [-0.5, 0.5], [0, 0]),
     ("threshold", (1.0, 9.0), [1.0], [0]), ("leaky_relu", (0.25,), [0.0], [0.25]),
     ("elu", (2.0,), [0.0], [2.0]), ("softsign", (), [0.0], [1.0])],
)  # fmt: skip
def test_gradients_at_kinks(name, args, at, expected):
    x = genesis.tensor(at, requires_grad=True)
    getattr(F, name)(x, *args).sum().backward()
    assert x.grad.tolist() == expected
    x.grad = None
    getattr(F, name)(x, *args).sum().backward(create_graph=True)
    assert x.grad.tolist() == expected


def test_old_names_of_the_bounds_of_hardtanh():
    with pytest.warns(FutureWarning, match="old names"):
        layer = nn.Hardtanh(min_value=-3.0, max_value=2.0)
    assert (layer.min_val, layer.max_val) == (-3.0, 2.0)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="max_val must be greater than min_val"):
        nn.Hardtanh(1.0, 1.0)
    with pytest.raises(ValueError, match="expected 3D or 4D input"):
        nn.Softmax2d()(genesis.ones(2, 2))
    with pytest.raises(TypeError, match="mish: input must be floating"):
        nn.Mish()(genesis.arange(3))
