"""Linear, Bilinear, Identity and the layers that only move elements, next to PyTorch's."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck

from tests.nn.against_torch import compare


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (0, 5), (2, 0, 5)])
def test_linear(shape, bias, rng):
    compare(lambda nn: nn.Linear(5, 4, bias=bias), rng.normal(size=shape))


def test_linear_of_a_transposed_input(rng):
    x = genesis.tensor(rng.normal(size=(5, 3)), dtype=genesis.float64).T
    layer = nn.Linear(5, 4, dtype=genesis.float64)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(x).detach().numpy(), x.numpy() @ w.T + b)


def test_linear_has_two_sets_of_names():
    layer = nn.Linear(input_size=3, output_size=2)
    assert (layer.in_features, layer.out_features, tuple(layer.weight.shape)) == (3, 2, (2, 3))
    assert repr(nn.Linear(3, output_size=2)) == "Linear(in_features=3, out_features=2, bias=True)"
    with pytest.raises(TypeError, match="pass one of in_features and input_size"):
        nn.Linear(3, 2, input_size=3)
    with pytest.raises(TypeError, match="pass one of out_features and output_size"):
        nn.Linear(3)


def test_linear_checks_its_input():
    with pytest.raises(ValueError, match=r"takes 3 features.*\(2, 4\)"):
        nn.Linear(3, 2)(genesis.ones(2, 4))


def test_linear_without_inputs_has_a_bias_of_zero():
    with pytest.warns(UserWarning, match="zero-element"):
        layer = nn.Linear(0, 3)
    assert layer.bias.tolist() == [0, 0, 0] and layer(genesis.ones(2, 0)).shape == (2, 3)


def test_linear_in_other_dtypes():
    layer = nn.Linear(2, 3, dtype=genesis.float64)
    assert layer.weight.dtype == layer.bias.dtype == genesis.float64
    y = nn.Linear(2, 3).bfloat16()(genesis.ones(1, 2, dtype=genesis.bfloat16))
    assert y.dtype == genesis.bfloat16


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,)])
def test_bilinear(batch, bias, rng):
    compare(
        lambda nn: nn.Bilinear(5, 4, 2, bias=bias),
        rng.normal(size=(*batch, 5)), rng.normal(size=(*batch, 4)),
    )  # fmt: skip


def test_bilinear_gradients(rng):
    layer = nn.Bilinear(2, 3, 2).double()
    inputs = [
        genesis.tensor(rng.normal(size=(2, n)), dtype=genesis.float64, requires_grad=True)
        for n in (2, 3)
    ]
    weight = layer.weight.detach().clone().requires_grad_()
    assert gradcheck(nn.functional.bilinear, (*inputs, weight), order=2)
    with pytest.raises(ValueError, match="in1_features must be > 0"):
        nn.Bilinear(0, 3, 2)


def test_identity_takes_anything():
    x = genesis.ones(2)
    assert nn.Identity(3, a=4)(x) is x


@pytest.mark.parametrize(
    "build, shape",
    [
        (lambda nn: nn.Flatten(), (2, 3, 4)),
        (lambda nn: nn.Flatten(0), (2, 3, 4)),
        (lambda nn: nn.Flatten(1, 2), (2, 3, 4, 5)),
        (lambda nn: nn.Unflatten(1, (2, 3)), (2, 6, 4)),
        (lambda nn: nn.Unflatten(-1, (2, -1)), (2, 6)),
        (lambda nn: nn.PixelShuffle(2), (2, 8, 3, 2)),
        (lambda nn: nn.PixelUnshuffle(3), (1, 2, 6, 3)),
        (lambda nn: nn.ChannelShuffle(3), (2, 6, 4)),
        (lambda nn: nn.ChannelShuffle(2), (2, 6, 4, 2)),
    ],
)
def test_layers_that_move_elements(build, shape, rng):
    compare(build, rng.normal(size=shape))


def test_unflatten_checks_its_arguments():
    with pytest.raises(TypeError, match="dim must be an int"):
        nn.Unflatten("channels", (2, 3))
    with pytest.raises(TypeError, match="must be a tuple of ints"):
        nn.Unflatten(1, 6)
    with pytest.raises(ValueError):
        nn.Unflatten(1, (4, 2))(genesis.ones(2, 6))


@pytest.mark.parametrize(
    "build",
    [
        lambda nn: nn.PairwiseDistance(),
        lambda nn: nn.PairwiseDistance(1.0, 0.1, True),
        lambda nn: nn.CosineSimilarity(),
        lambda nn: nn.CosineSimilarity(0, 0.5),
    ],
)
def test_distances(build, rng):
    compare(build, rng.normal(size=(3, 4)), rng.normal(size=(3, 4)))


def test_distances_broadcast(rng):
    compare(lambda nn: nn.CosineSimilarity(-1), rng.normal(size=(3, 1, 4)), rng.normal(size=(2, 4)))
    compare(lambda nn: nn.PairwiseDistance(), rng.normal(size=(3, 4)), rng.normal(size=4))
