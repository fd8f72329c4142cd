"""Pooling over windows drawn at random, and old names of interpolate."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn import functional as F


def naive(x, kernel, outs, samples):
    """Maxima and their places, plane by plane."""
    spatial = len(outs)
    order = (1, 0) if spatial == 2 else (0, 1, 2)
    values = np.zeros((*x.shape[:2], *outs))
    places = np.zeros(values.shape, np.int64)
    for n, c in np.ndindex(*x.shape[:2]):
        starts = []
        for d in range(spatial):
            size, sample = x.shape[2 + d], samples[n, c, order[d]]
            step = (size - kernel[d]) / (outs[d] - 1) if outs[d] > 1 else 0
            first = [int((i + sample) * step) - int(sample * step) for i in range(outs[d] - 1)]
            starts.append([*first, size - kernel[d]])
        for at in np.ndindex(*outs):
            window = tuple(
                slice(starts[d][at[d]], starts[d][at[d]] + kernel[d]) for d in range(spatial)
            )
            index = np.arange(x[n, c].size).reshape(x[n, c].shape)[window].ravel()
            best = x[n, c].ravel()[index].argmax()
            values[(n, c, *at)], places[(n, c, *at)] = x[n, c].ravel()[index[best]], index[best]
    return values, places


CASES = [
    ((2, 3, 9, 11), (2, 3), (4, 5)),
    ((1, 2, 7, 7), (1, 1), (7, 7)),
    ((1, 1, 6, 5), (3, 2), (1, 2)),
    ((2, 2, 6, 7, 8), (2, 2, 3), (3, 4, 5)),
]


@pytest.mark.parametrize(("shape", "kernel", "outs"), CASES, ids=str)
def test_windows(shape, kernel, outs, rng):
    x, samples = rng.normal(size=shape), rng.random((*shape[:2], len(outs)))
    pool = F.fractional_max_pool2d if len(outs) == 2 else F.fractional_max_pool3d
    given = {
        "return_indices": True,
        "_random_samples": genesis.tensor(samples, dtype=genesis.float64),
    }
    y, index = pool(genesis.tensor(x, dtype=genesis.float64), kernel, outs, **given)
    values, places = naive(x, kernel, outs, samples)
    np.testing.assert_array_equal(y.numpy(), values)
    np.testing.assert_array_equal(index.numpy(), places)
    torch = pytest.importorskip("torch")
    theirs = getattr(torch.nn.functional, pool.__name__)(
        torch.tensor(x), kernel, outs, return_indices=True, _random_samples=torch.tensor(samples)
    )
    np.testing.assert_array_equal(y.numpy(), theirs[0].numpy())
    np.testing.assert_array_equal(index.numpy(), theirs[1].numpy())


def test_gradients_and_layers(rng):
    samples = genesis.tensor(rng.random((1, 2, 2)), dtype=genesis.float64)
    x = genesis.tensor(
        rng.permutation(2 * 25).reshape(1, 2, 5, 5), dtype=genesis.float64, requires_grad=True
    )
    layer = nn.FractionalMaxPool2d(2, output_ratio=(0.6, 0.8), _random_samples=samples)
    assert layer(x).shape == (1, 2, 3, 4)
    assert gradcheck(layer, (x,), order=2)
    assert nn.FractionalMaxPool3d(2, output_size=2)(genesis.randn(3, 5, 5, 5)).shape == (3, 2, 2, 2)
    genesis.manual_seed(0)
    first = nn.FractionalMaxPool2d(2, output_size=3, return_indices=True)(x)[1]
    genesis.manual_seed(0)
    assert genesis.equal(first, nn.FractionalMaxPool2d(2, output_size=3, return_indices=True)(x)[1])
    assert list(layer.state_dict()) == ["_random_samples"]


def test_errors():
    x = genesis.ones(1, 1, 5, 5)
    with pytest.raises(ValueError, match="pass one of output_size and output_ratio"):
        F.fractional_max_pool2d(x, 2)
    with pytest.raises(ValueError, match="no room for 5 windows of 2 in 5"):
        F.fractional_max_pool2d(x, 2, output_size=5)
    with pytest.raises(ValueError, match="3 or 4 dimensions"):
        F.fractional_max_pool2d(genesis.ones(5, 5), 2, output_size=2)
    with pytest.raises(ValueError, match="_random_samples must have shape"):
        F.fractional_max_pool2d(x, 2, output_size=2, _random_samples=genesis.ones(2))
    with pytest.raises(ValueError, match="between 0 and 1"):
        nn.FractionalMaxPool2d(2, output_ratio=1.5)
    with pytest.raises(ValueError, match="pass one of"):
        nn.FractionalMaxPool3d(2, output_size=2, output_ratio=0.5)


def test_old_names_of_interpolate():
    x = genesis.arange(4.0).reshape(1, 1, 2, 2)
    for old, options in [
        (F.upsample, {}),
        (F.upsample_nearest, {}),
        (F.upsample_bilinear, {"mode": "bilinear", "align_corners": True}),
    ]:
        with pytest.warns(DeprecationWarning, match="use interpolate"):
            y = old(x, scale_factor=2)
        assert genesis.equal(y, F.interpolate(x, scale_factor=2, **options))
