"""Pooling, folding and resampling layers against PyTorch, and what the tables do not reach."""

import genesis
import numpy as np
import pytest
from genesis import nn

LAYERS = [
    (nn.MaxPool1d, (2, 3, 17), (3,), dict(stride=2, padding=1)),
    (nn.MaxPool2d, (2, 3, 16, 33), (2,), {}),
    (nn.MaxPool2d, (2, 3, 17, 18), ((3, 2),), dict(stride=2, padding=1, dilation=(1, 2))),
    (nn.MaxPool2d, (3, 17, 18), (3,), dict(stride=2, padding=1, ceil_mode=True)),
    (nn.MaxPool3d, (1, 2, 6, 7, 8), (2,), dict(stride=1)),
    (nn.AvgPool1d, (2, 3, 17), (3,), dict(stride=2, padding=1)),
    (nn.AvgPool2d, (2, 3, 16, 33), (2,), {}),
    (nn.AvgPool2d, (2, 3, 17, 18), (3,), dict(stride=2, padding=1, ceil_mode=True, count_include_pad=False)),
    (nn.AvgPool2d, (2, 3, 17, 18), (3,), dict(divisor_override=7)),
    (nn.AvgPool3d, (1, 2, 6, 7, 8), (3,), dict(stride=2, padding=1)),
    (nn.LPPool1d, (2, 3, 16), (2, 3), dict(stride=2)),
    (nn.LPPool2d, (2, 3, 16, 9), (2, (3, 2)), dict(ceil_mode=True)),
    (nn.LPPool3d, (1, 2, 6, 6, 6), (2, 2), {}),
    (nn.AdaptiveMaxPool1d, (2, 3, 17), (5,), {}),
    (nn.AdaptiveMaxPool2d, (2, 3, 17, 12), ((5, 4),), {}),
    (nn.AdaptiveMaxPool3d, (1, 2, 6, 7, 8), (3,), {}),
    (nn.AdaptiveAvgPool1d, (2, 3, 17), (5,), {}),
    (nn.AdaptiveAvgPool2d, (2, 3, 17, 12), ((5, None),), {}),
    (nn.AdaptiveAvgPool2d, (2, 3, 32, 32), (1,), {}),
    (nn.AdaptiveAvgPool3d, (1, 2, 6, 7, 8), (3,), {}),
    (nn.Unfold, (2, 3, 9, 8), ((3, 2),), dict(stride=2, padding=1)),
    (nn.Fold, (2, 24, 12), ((4, 5), (2, 2)), {}),
    (nn.Upsample, (2, 3, 5, 6), (), dict(scale_factor=2)),
    (nn.Upsample, (2, 3, 5, 6), (), dict(size=(7, 3), mode="nearest-exact")),
    (nn.Upsample, (2, 3, 5, 6), (), dict(scale_factor=(1.3, 2.6), mode="bilinear")),
    (nn.Upsample, (2, 3, 5, 6), (), dict(scale_factor=1.3, mode="bicubic", align_corners=True)),
    (nn.Upsample, (1, 2, 3, 4, 5), (), dict(scale_factor=1.5, mode="trilinear", recompute_scale_factor=True)),
    (nn.UpsamplingNearest2d, (2, 3, 5, 6), (), dict(scale_factor=3)),
    (nn.UpsamplingBilinear2d, (2, 3, 5, 6), (), dict(size=(9, 11))),
]  # fmt: skip


@pytest.mark.parametrize("layer, shape, args, kwargs", LAYERS)
@pytest.mark.filterwarnings("ignore")
def test_layer_is_pytorchs(layer, shape, args, kwargs, rng):
    torch = pytest.importorskip("torch")
    ours, theirs = layer(*args, **kwargs), getattr(torch.nn, layer.__name__)(*args, **kwargs)
    assert repr(ours) == repr(theirs)
    array = np.abs(rng.normal(size=shape)).astype(np.float32)
    x, x_ = genesis.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    y, y_ = ours(x), theirs(x_)
    np.testing.assert_allclose(y.detach().numpy(), y_.detach().numpy(), rtol=1e-5, atol=1e-6)
    y.square().sum().backward()
    y_.square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), x_.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_unpooling_inverts_pooling(spatial, rng):
    pool = getattr(nn, f"MaxPool{spatial}d")(2, stride=2, return_indices=True)
    unpool = getattr(nn, f"MaxUnpool{spatial}d")(2, stride=2)
    x = genesis.tensor(np.abs(rng.normal(size=(2, 3) + (7,) * spatial)) + 1)
    values, indices = pool(x)
    y = unpool(values, indices, output_size=x.shape)
    assert y.shape == x.shape
    assert (y.flatten()[y.flatten() != 0] == x.flatten()[y.flatten() != 0]).all()
    assert genesis.equal(pool(y)[0], values)
    assert (
        repr(unpool)
        == f"MaxUnpool{spatial}d(kernel_size={(2,) * spatial}, stride={(2,) * spatial}, padding={(0,) * spatial})"
    )


def test_nan_is_larger_than_any_number():
    x = genesis.tensor([[1.0, float("nan"), 3.0, 4.0, 5.0, 0.0]])
    y = nn.functional.max_pool1d(x, 3, 1)
    assert y.isnan().tolist() == [[True, True, False, False]]
    assert y[0, 2:].tolist() == [5.0, 5.0]


def test_windows_of_minus_infinity_point_at_their_first_element():
    x = genesis.full((1, 4, 4), float("-inf"))
    values, indices = nn.functional.max_pool2d(x, 2, return_indices=True)
    assert (values == float("-inf")).all()
    assert indices.flatten().tolist() == [0, 2, 8, 10]


def test_equal_elements_send_the_gradient_to_the_first():
    x = genesis.ones(1, 4, 4, requires_grad=True)
    nn.functional.max_pool2d(x, 3, 1).sum().backward()
    assert x.grad[0].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("size", [(3, 5), (7, 7), (9, 15), (33, 31)])
def test_global_maxima_are_the_first_of_equals(size, dtype, rng):
    x = rng.integers(-9, 9, (6, *size)).astype(dtype)
    values, indices = nn.functional.max_pool2d(genesis.tensor(x), size, return_indices=True)
    flat = x.reshape(6, -1)
    assert values.flatten().tolist() == flat.max(1).tolist()
    assert indices.flatten().tolist() == flat.argmax(1).tolist()


def test_global_maxima_are_the_last_nan():
    x = np.zeros((4, 9, 15), np.float32)
    x[0].flat[[3, 70, 20]] = x[1].flat[0] = x[2].flat[[5, 134]] = np.nan
    values, indices = nn.functional.adaptive_max_pool2d(genesis.tensor(x), 1, return_indices=True)
    assert values.flatten().isnan().tolist() == [True, True, True, False]
    assert indices.flatten().tolist() == [70, 0, 134, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 5, 12, 13), (3, 40, 11, 9), (1, 100, 14, 8)])
@pytest.mark.parametrize(
    "options", [dict(stride=2, padding=2), dict(stride=1), dict(stride=3, dilation=2)]
)
def test_gradients_of_large_windows_with_channels_last(shape, options, dtype, rng):
    array = rng.normal(size=shape).astype(dtype)
    grads = []
    for layout in (genesis.contiguous_format, genesis.channels_last):
        x = genesis.tensor(array).to(memory_format=layout).requires_grad_()
        nn.functional.max_pool2d(x, (5, 4), **options).square().sum().backward()
        grads.append(x.grad.numpy())
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "shape, kernel, stride",
    [((3, 40, 67), 2, 2), ((3, 40, 67), 3, 1), ((2, 31, 50), 3, 3), ((5, 3, 5), 5, 1)],
)
def test_long_lines(shape, kernel, stride, rng):
    """Vector loops, their tails, and windows longer than the line of results."""
    x = rng.normal(size=shape).astype(np.float32)
    padding = kernel // 2
    t = genesis.tensor(x)
    ours = (
        nn.functional.max_pool2d(t, kernel, stride, padding),
        nn.functional.avg_pool2d(t, kernel, stride, padding),
    )
    zeros = np.pad(x, [(0, 0), (padding,) * 2, (padding,) * 2])
    ones = np.pad(x, [(0, 0), (padding,) * 2, (padding,) * 2], constant_values=-np.inf)
    for padded, reduce, y in ((ones, np.max, ours[0]), (zeros, np.mean, ours[1])):
        view = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (1, 2))
        np.testing.assert_allclose(
            y.numpy(), reduce(view[:, ::stride, ::stride], (3, 4)), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("seed", range(20))
def test_random_pools_and_sizes(seed):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    size = tuple(int(n) for n in rng.integers(4, 12, 2))
    array = rng.normal(size=(2, 2, *size)).astype(np.float32)
    kernel, stride = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    pool = dict(
        kernel_size=kernel,
        stride=stride,
        padding=int(rng.integers(0, kernel // 2 + 1)),
        ceil_mode=bool(rng.integers(2)),
    )
    x, x_ = genesis.tensor(array), torch.tensor(array)
    F, F_ = nn.functional, torch.nn.functional
    pairs = [
        (F.max_pool2d(x, **pool), F_.max_pool2d(x_, **pool)),
        (F.avg_pool2d(x, **pool), F_.avg_pool2d(x_, **pool)),
    ]
    out = tuple(int(n) for n in rng.integers(1, 15, 2))
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        pairs.append((F.interpolate(x, out, mode=mode), F_.interpolate(x_, out, mode=mode)))
    scale = tuple(float(s) for s in rng.uniform(0.3, 3, 2))
    for mode in ("nearest", "bilinear", "bicubic"):
        pairs.append(
            (
                F.interpolate(x, scale_factor=scale, mode=mode),
                F_.interpolate(x_, scale_factor=scale, mode=mode),
            )
        )
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)
