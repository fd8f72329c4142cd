"""nn.utils.parametrizations.orthogonal, and the matrix functions that it is made of."""

import copy

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn.utils import parametrizations, parametrize

MAPS = ["matrix_exp", "cayley", "householder"]
SHAPES = [(4, 4), (6, 3), (3, 6), (2, 5, 3), (1, 1)]


def layer_of(module, weight):
    layer = module.nn.Module()
    layer.weight = module.nn.Parameter(module.tensor(weight))
    return layer


def is_orthogonal(q, tolerance=1e-5):
    q = q.detach().numpy()
    q = q if q.shape[-2] >= q.shape[-1] else np.swapaxes(q, -1, -2)
    product = np.swapaxes(q, -1, -2) @ q
    np.testing.assert_allclose(
        product, np.broadcast_to(np.eye(q.shape[-1]), product.shape), atol=tolerance
    )
    return True


@pytest.mark.parametrize("trivialization", [True, False])
@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_same_as_torch(shape, orthogonal_map, trivialization, rng):
    torch = pytest.importorskip("torch")
    weight = rng.normal(size=shape).astype("float32")
    ours, theirs = layer_of(genesis, weight), layer_of(torch, weight)
    options = {"orthogonal_map": orthogonal_map, "use_trivialization": trivialization}
    parametrizations.orthogonal(ours, **options)
    torch.nn.utils.parametrizations.orthogonal(theirs, **options)
    assert is_orthogonal(ours.weight)
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    np.testing.assert_allclose(
        ours.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=1e-4, atol=1e-5
    )
    # away from the start, with their random completion of the base
    state = {k: v.clone() for k, v in theirs.state_dict().items()}
    original = state["parametrizations.weight.original"]
    noise = torch.tensor(rng.normal(size=shape).astype("float32"))
    keeps_diagonal = orthogonal_map == "householder"
    state["parametrizations.weight.original"] = original + (
        noise.tril(-1) if keeps_diagonal and shape[-2] >= shape[-1]
        else noise.triu(1) if keeps_diagonal
        else noise
    )  # fmt: skip
    theirs.load_state_dict(state)
    ours.load_state_dict({k: genesis.tensor(v.numpy()) for k, v in state.items()})
    assert is_orthogonal(ours.weight)
    np.testing.assert_allclose(
        ours.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=1e-4, atol=2e-5
    )
    factor = rng.normal(size=shape).astype("float32")
    (ours.weight * genesis.tensor(factor)).sum().backward()
    (theirs.weight * torch.tensor(factor)).sum().backward()
    np.testing.assert_allclose(
        ours.parametrizations.weight.original.grad.numpy(),
        theirs.parametrizations.weight.original.grad.numpy(),
        rtol=1e-3, atol=1e-4,
    )  # fmt: skip


@pytest.mark.parametrize("orthogonal_map", [None, *MAPS])
def test_starts_from_the_weight_and_stays_orthogonal(orthogonal_map):
    genesis.manual_seed(0)
    layer = nn.Linear(5, 8)
    nn.init.orthogonal_(layer.weight)
    before = layer.weight.detach().clone()
    assert parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map) is layer
    np.testing.assert_allclose(layer.weight.detach().numpy(), before.numpy(), atol=1e-5)
    optimizer = genesis.optim.SGD(layer.parameters(), lr=0.1)
    target, x = genesis.randn(16, 8), genesis.randn(16, 5)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = ((layer(x) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert is_orthogonal(layer.weight)
    twin = copy.deepcopy(layer)
    assert genesis.equal(twin(x), layer(x))
    now = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert genesis.equal(layer.weight, now)


def test_a_weight_can_be_assigned():
    genesis.manual_seed(0)
    layer = parametrizations.orthogonal(nn.Linear(4, 4))
    value = genesis.linalg.qr(genesis.randn(4, 4)).Q
    layer.weight = value
    np.testing.assert_allclose(layer.weight.detach().numpy(), value.numpy(), atol=1e-5)
    layer = parametrizations.orthogonal(
        nn.Linear(4, 4), orthogonal_map="cayley", use_trivialization=False
    )
    with pytest.raises(NotImplementedError, match="use_trivialization=True"):
        layer.weight = value
    with pytest.raises(ValueError, match="expected a weight of shape"):
        layer.parametrizations.weight[0].right_inverse(genesis.ones(2, 2))


@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2)], ids=str)
def test_differentiable_twice(shape, orthogonal_map, rng):
    layer = layer_of(genesis, rng.normal(size=shape)).double()
    parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map)
    x = genesis.tensor(rng.normal(size=shape), dtype=genesis.float64)
    x.diagonal().fill_(1.0)
    f = layer.parametrizations.weight[0]
    # The diagonal holds signs, which are no parameters.
    inside = genesis.tensor(np.tri(*shape, -1), dtype=genesis.float64)
    assert gradcheck(
        lambda x: f(x * inside + genesis.eye(*shape, dtype=genesis.float64)),
        (x.requires_grad_(),),
        order=2,
    )


def test_errors():
    with pytest.raises(ValueError, match="no parameter or buffer 'kernel'"):
        parametrizations.orthogonal(nn.Linear(2, 2), "kernel")
    with pytest.raises(ValueError, match="matrix or a batch"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")
    with pytest.raises(ValueError, match="orthogonal_map must be one of"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr")
    with pytest.raises(ValueError, match="at least as many rows"):
        genesis.linalg.householder_product(genesis.ones(2, 3), genesis.ones(2))
    with pytest.raises(ValueError, match="at most 2 elements"):
        genesis.linalg.householder_product(genesis.ones(3, 2), genesis.ones(3))
    with pytest.raises(ValueError, match="square"):
        genesis.matrix_exp(genesis.ones(2, 3))


@pytest.mark.parametrize("size", [1e-6, 0.1, 3.0, 40.0])
def test_exponential_of_a_rotation(size):
    """[[0, -x], [x, 0]] becomes a rotation by x; matrices of a stack do not disturb each other."""
    angles = np.array([size, size / 100, 0.0])
    a = np.zeros((3, 2, 2))
    a[:, 0, 1], a[:, 1, 0] = -angles, angles
    c, s = np.cos(angles), np.sin(angles)
    expected = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
    y = genesis.matrix_exp(genesis.tensor(a, dtype=genesis.float64)).numpy()
    np.testing.assert_allclose(y, expected, atol=1e-13)
    y = genesis.matrix_exp(genesis.tensor(a, dtype=genesis.float32)).numpy()
    np.testing.assert_allclose(y, expected, atol=2e-6)


def test_exponential_of_what_is_not_finite():
    y = genesis.matrix_exp(
        genesis.tensor([[[float("nan"), 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    )
    assert y[0].isnan().any()
    assert y[1].tolist() == [[1.0, 0.0], [0.0, 1.0]]
