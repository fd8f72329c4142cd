"""Layers that find out how many inputs they have."""

import copy
import pickle

import genesis
import numpy as np
import pytest
from genesis import nn

LAYERS = [
    ("LazyLinear", (4,), {}, (3, 5)),
    ("LazyLinear", (4,), {"bias": False}, (3, 2, 5)),
    ("LazyConv1d", (4, 3), {"padding": "same"}, (2, 6, 9)),
    ("LazyConv2d", (4, 3), {"groups": 2, "stride": 2}, (2, 6, 7, 7)),
    ("LazyConv2d", (4, (3, 1)), {"padding_mode": "circular", "padding": 1}, (6, 7, 7)),
    ("LazyConv3d", (2, 2), {"bias": False}, (1, 3, 4, 4, 4)),
    ("LazyConvTranspose1d", (4, 3), {}, (2, 6, 5)),
    ("LazyConvTranspose2d", (4, 3), {"groups": 2, "output_padding": 1, "stride": 2}, (2, 6, 4, 4)),
    ("LazyConvTranspose3d", (2, 2), {"dilation": 2}, (1, 3, 4, 4, 4)),
    ("LazyBatchNorm1d", (), {}, (4, 5)),
    ("LazyBatchNorm2d", (), {"affine": False}, (4, 5, 3, 3)),
    ("LazyBatchNorm3d", (), {"track_running_stats": False, "bias": False}, (4, 5, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), {}, (4, 5, 3)),
    ("LazyInstanceNorm2d", (), {"affine": False}, (4, 5, 3, 3)),
    ("LazyInstanceNorm3d", (), {"track_running_stats": False}, (4, 5, 2, 2, 2)),
]


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS, ids=str)
def test_same_as_torch(name, args, options, shape, rng):
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn, name)(*args, **options)
    ours = getattr(nn, name)(*args, **options)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.has_uninitialized_params() == theirs.has_uninitialized_params()
    held = list(ours.parameters())
    x = rng.normal(size=shape).astype("float32")
    ours(genesis.tensor(x)), theirs(torch.tensor(x))
    assert repr(ours) == repr(theirs)
    assert type(ours) is getattr(nn, name.removeprefix("Lazy"))
    assert all(a is b for a, b in zip(ours.parameters(), held, strict=True))
    assert all(type(p) is nn.Parameter for p in held)
    state = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in state.items()
    }
    ours.load_state_dict({k: genesis.tensor(v) for k, v in state.items()})
    np.testing.assert_allclose(
        ours(genesis.tensor(x)).detach().numpy(),
        theirs(torch.tensor(x)).detach().numpy(),
        rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_begins_as_the_plain_layer_does():
    genesis.manual_seed(0)
    plain = nn.Linear(5, 4)
    genesis.manual_seed(0)
    lazy = nn.LazyLinear(4)
    lazy(genesis.ones(1, 5))
    assert genesis.equal(plain.weight, lazy.weight)
    assert genesis.equal(plain.bias, lazy.bias)


def test_channels_of_a_single_image():
    norm = nn.LazyInstanceNorm2d()
    norm(genesis.randn(5, 3, 3))
    assert norm.num_features == 5


def test_trains_with_an_optimizer_made_before():
    genesis.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(1))
    optimizer = genesis.optim.SGD(model.parameters(), lr=0.1)
    x = genesis.randn(32, 3)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_states_give_and_keep_shapes():
    plain, lazy = nn.Linear(5, 4), nn.LazyLinear(4)
    lazy.load_state_dict(plain.state_dict())
    assert not lazy.has_uninitialized_params()
    x = genesis.ones(2, 5)
    assert genesis.equal(lazy(x), plain(x))
    assert lazy.in_features == 5
    waiting = nn.LazyLinear(4)
    waiting.load_state_dict(nn.LazyLinear(4).state_dict())
    assert waiting.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="no shape yet"):
        plain.load_state_dict(nn.LazyLinear(4).state_dict())


def test_copies_conversions_and_files():
    lazy = nn.LazyLinear(4).double()
    for twin in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert twin.has_uninitialized_params() and twin.weight is not lazy.weight
        assert twin(genesis.ones(1, 3, dtype=genesis.float64)).dtype == genesis.float64
    assert lazy.has_uninitialized_params()


def test_what_has_no_values_refuses_to_compute():
    p = nn.LazyLinear(4).weight
    assert repr(p) == "<UninitializedParameter>" and nn.parameter.is_lazy(p)
    for use in (
        lambda: p + 1,
        lambda: p.sum(),
        lambda: 2 * p,
        lambda: p.numel(),
        lambda: p[0],
        lambda: len(p),
    ):
        with pytest.raises(ValueError, match="no values yet"):
            use()
    with pytest.raises(RuntimeError, match="no shape yet"):
        p.shape
    with pytest.raises(ValueError, match="divisible by groups=2"):
        nn.LazyConv1d(4, 3, groups=2)(genesis.ones(1, 3, 9))
    with pytest.raises(ValueError, match="2 or 3 dimensions"):
        nn.LazyConv1d(4, 3)(genesis.ones(3))
