"""Normalising layers: statistics over batches and modes, and against PyTorch."""

import copy

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.nn import functional as F

SHAPES = {
    "BatchNorm1d": [(4, 3), (4, 3, 5)], "BatchNorm2d": [(4, 3, 5, 2)], "BatchNorm3d": [(3, 3, 2, 3, 2)],
    "InstanceNorm1d": [(4, 3, 5), (3, 5)], "InstanceNorm2d": [(2, 3, 4, 5), (3, 4, 5)],
    "InstanceNorm3d": [(2, 3, 4, 2, 3), (3, 4, 2, 3)],
}  # fmt: skip
OTHERS = [
    ("LayerNorm", (5,), {}, (4, 3, 5)), ("LayerNorm", ((3, 5),), {"bias": False}, (4, 3, 5)),
    ("LayerNorm", (5,), {"elementwise_affine": False, "eps": 0.1}, (2, 5)),
    ("RMSNorm", (5,), {}, (4, 3, 5)), ("RMSNorm", ((3, 5),), {"eps": 0.1, "elementwise_affine": False}, (4, 3, 5)),
    ("GroupNorm", (2, 4), {}, (3, 4, 5)), ("GroupNorm", (4, 4), {"affine": False}, (3, 4, 5, 2)),
    ("GroupNorm", (1, 4), {"bias": False}, (3, 4)), ("LocalResponseNorm", (3,), {"alpha": 0.3}, (2, 5, 3)),
]  # fmt: skip


def tensor(a, **kwargs):
    return genesis.tensor(a, dtype=genesis.float64, **kwargs)


@pytest.mark.parametrize(
    "options", [{}, {"affine": True, "track_running_stats": True}, {"momentum": 0.7}], ids=str
)
@pytest.mark.parametrize("name, shape", [(n, s) for n, shapes in SHAPES.items() for s in shapes])
def test_channel_norms_same_as_torch(name, shape, options, rng):
    """Three batches of training, then evaluation: values, gradients and buffers."""
    torch = pytest.importorskip("torch")
    ours = getattr(nn, name)(3, dtype=genesis.float64, **options)
    theirs = getattr(torch.nn, name)(3, dtype=torch.float64, **options)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    if ours.weight is not None:
        values = rng.normal(size=(2, 3))
        with genesis.no_grad(), torch.no_grad():
            for p, q, v in zip(
                (ours.weight, ours.bias), (theirs.weight, theirs.bias), values, strict=True
            ):
                p.copy_(tensor(v))
                q.copy_(torch.tensor(v))
    for training in (True, True, True, False):
        ours.train(training)
        theirs.train(training)
        a = rng.normal(2.0, 3.0, size=shape)
        x, y = tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
        out, wanted = ours(x), theirs(y)
        np.testing.assert_allclose(
            out.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-12
        )
        seed = rng.normal(size=shape)
        out.backward(tensor(seed))
        wanted.backward(torch.tensor(seed))
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-8, atol=1e-11)
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-11)
        for b, c in zip(ours.buffers(), theirs.buffers(), strict=True):
            np.testing.assert_allclose(b.numpy(), c.numpy(), rtol=1e-9)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    ours.load_state_dict({k: genesis.tensor(v.numpy()) for k, v in theirs.state_dict().items()})


@pytest.mark.parametrize("name, args, options, shape", OTHERS)
def test_other_norms_same_as_torch(name, args, options, shape, rng):
    torch = pytest.importorskip("torch")
    ours, theirs = (
        getattr(nn, name)(*args, **options).double(),
        getattr(torch.nn, name)(*args, **options).double(),
    )
    assert repr(ours) == repr(theirs)
    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: v.shape for k, v in theirs.state_dict().items()
    }
    a = rng.normal(2.0, 3.0, size=shape)
    x, y = tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    out, wanted = ours(x), theirs(y)
    np.testing.assert_allclose(out.detach().numpy(), wanted.detach().numpy(), rtol=1e-9, atol=1e-12)
    out.square().sum().backward()
    wanted.square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("shape", [(3, 5003), (40, 1100), (300, 7), (17, 2049)])
def test_gradients_of_parameters_over_rows_of_any_number_and_length(shape, rng):
    a, seed = rng.normal(1.0, 2.0, size=shape), rng.normal(size=shape)
    xhat = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    for dtype, tolerance in (
        (genesis.float64, 1e-9),
        (genesis.float32, 2e-4),
        (genesis.bfloat16, 0.4),
    ):
        x, w, b = (
            genesis.tensor(v, dtype=dtype, requires_grad=True)
            for v in (a, np.ones(shape[1]), np.zeros(shape[1]))
        )
        y = F.layer_norm(x, shape[1:], w, b)
        dw, db = genesis.autograd.grad(y, (w, b), genesis.tensor(seed, dtype=dtype))
        np.testing.assert_allclose(
            dw.double().numpy(), (seed * xhat).sum(0), rtol=tolerance, atol=tolerance
        )
        np.testing.assert_allclose(db.double().numpy(), seed.sum(0), rtol=tolerance, atol=tolerance)


def test_momentum_none_is_the_mean_of_all_batches(rng):
    norm = nn.BatchNorm1d(3, momentum=None)
    batches = rng.normal(size=(5, 8, 3)).astype(np.float32)
    for batch in batches:
        norm(genesis.tensor(batch))
    assert norm.num_batches_tracked.item() == 5
    np.testing.assert_allclose(
        norm.running_mean.numpy(), batches.mean((0, 1)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(norm.running_var.numpy(), batches.var(1, ddof=1).mean(0), rtol=1e-5)


def test_running_statistics_stay_in_evaluation_and_without_tracking(rng):
    x = genesis.tensor(rng.normal(size=(8, 3)).astype(np.float32))
    norm = nn.BatchNorm1d(3).eval()
    before = copy.deepcopy(norm.state_dict())
    norm(x)
    assert all(np.array_equal(v.numpy(), before[k].numpy()) for k, v in norm.state_dict().items())
    free = nn.BatchNorm1d(3, track_running_stats=False, affine=False).eval()
    assert list(free.state_dict()) == []
    np.testing.assert_allclose(free(x).numpy().std(0), 1, rtol=1e-4)


def test_old_state_without_a_count_of_batches():
    norm = nn.BatchNorm1d(3)
    state = {k: v for k, v in norm.state_dict().items() if k != "num_batches_tracked"}
    norm.load_state_dict(dict(state))
    assert norm.num_batches_tracked.item() == 0


def norms(x):
    """(name, result) of every norm on (n, c, l), one after the other."""
    c, length = x.shape[1:]
    w, b = genesis.linspace(0.5, 2, c), genesis.linspace(-1, 1, c)
    wl, bl = genesis.linspace(0.5, 2, length), genesis.linspace(-1, 1, length)
    w, b, wl, bl = (t.to(x.dtype).requires_grad_() for t in (w, b, wl, bl))
    yield F.layer_norm(x, (length,), wl, bl), (wl, bl)
    yield F.rms_norm(x, (length,), wl), (wl,)
    yield F.group_norm(x, 2, w, b), (w, b)
    yield F.batch_norm(x, None, None, w, b, training=True), (w, b)
    yield F.batch_norm(x[:, :, 0], None, None, w, b, training=True), (w, b)


@pytest.mark.parametrize("shape", [(130, 10, 77), (3, 66, 300), (600, 34, 9), (2, 4, 9001)])
def test_any_number_of_threads_gives_the_same_bits(shape, rng, num_threads):
    a = rng.normal(size=shape).astype(np.float32)
    results = []
    for threads in (1, 2, 7):
        genesis.set_num_threads(threads)
        here = []
        x = genesis.tensor(a, requires_grad=True)
        for y, params in norms(x):
            here += [y, *genesis.autograd.grad(y.square().sum(), [x, *params])]
        results.append([t.detach().numpy() for t in here])
    for other in results[1:]:
        for p, q in zip(results[0], other, strict=True):
            assert np.array_equal(p, q)


@pytest.mark.parametrize("shape", [(6, 4, 7), (40, 4, 70)])
def test_float32_is_as_exact_as_float64_of_shifted_data(shape, rng):
    """Means far from 0: a variance from squares alone would lose all digits."""
    a = (rng.normal(size=shape) + 1000).astype(np.float32)
    for (y, _), (z, _) in zip(
        norms(genesis.tensor(a)), norms(genesis.tensor(a).double()), strict=True
    ):
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_computes_in_float32(dtype, rng):
    half = getattr(genesis, dtype)
    x = genesis.tensor(rng.normal(size=(6, 4, 40)), dtype=half, requires_grad=True)
    wide = x.detach().float().requires_grad_()
    for (y, params), (z, params32) in zip(norms(x), norms(wide), strict=True):
        assert y.dtype == half
        exact = np.array_equal(y.float().detach().numpy(), z.to(half).float().detach().numpy())
        close = abs(y.float() - z).max().item() < 0.05
        assert exact or close  # parameters are rounded to half precision first
        grads = genesis.autograd.grad(y.float().square().sum(), [x, *params])
        assert all(g.dtype == half for g in grads)
        for g, wanted in zip(
            grads, genesis.autograd.grad(z.square().sum(), [wide, *params32]), strict=True
        ):
            np.testing.assert_allclose(g.float().numpy(), wanted.numpy(), rtol=0.05, atol=0.2)


def test_half_input_with_float32_parameters(rng):
    x = genesis.tensor(rng.normal(size=(4, 3, 5)), dtype=genesis.bfloat16)
    norm = nn.BatchNorm1d(3)
    assert norm(x).dtype == genesis.bfloat16 and norm.running_mean.dtype == genesis.float32
    assert nn.LayerNorm(5)(x).dtype == genesis.bfloat16


def test_channels_last_is_kept(rng):
    a = rng.normal(size=(4, 5, 6, 3)).astype(np.float32)
    x = genesis.tensor(a).permute(0, 3, 1, 2).requires_grad_()
    y = F.batch_norm(x, None, None, training=True)
    assert y.stride() == x.stride()
    z = F.batch_norm(x.contiguous(), None, None, training=True)
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-4, atol=1e-5)
    seed = genesis.tensor(rng.normal(size=(4, 3, 5, 6)).astype(np.float32))
    (a,), (b,) = (genesis.autograd.grad(t, x, seed) for t in (y, z))
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-5)


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"BatchNorm2d: expected 4D input \(got 3D input\)"):
        nn.BatchNorm2d(3)(genesis.ones(2, 3, 4))
    with pytest.raises(ValueError, match="more than one value per channel"):
        nn.BatchNorm1d(3)(genesis.ones(1, 3))
    with pytest.raises(ValueError, match="expected num_features=3"):
        nn.InstanceNorm1d(3, affine=True)(genesis.ones(2, 4, 5))
    with pytest.warns(UserWarning, match="nothing depends on it"):
        nn.InstanceNorm1d(3)(genesis.ones(2, 4, 5))
    with pytest.raises(ValueError, match=r"num_channels \(4\) must be divisible"):
        nn.GroupNorm(3, 4)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_cross_map_lrn(size):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(2, 6, 3, 2))
    ours = genesis.nn.CrossMapLRN2d(size, 0.1, 0.6, 2.0)(genesis.tensor(x, dtype=genesis.float64))
    theirs = torch.nn.CrossMapLRN2d(size, 0.1, 0.6, 2.0)(torch.tensor(x))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9)
    with pytest.raises(ValueError, match="batch, channels, height, width"):
        genesis.nn.CrossMapLRN2d(3)(genesis.ones(2, 3))
