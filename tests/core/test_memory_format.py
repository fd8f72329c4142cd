"""Images with their channels last in memory."""

import copy
import pickle

import genesis
import numpy as np
import pytest

LAST = genesis.channels_last


def _images(*shape):
    return genesis.arange(int(np.prod(shape)), dtype=genesis.float32).reshape(shape)


def test_channels_last_changes_strides_and_nothing_else():
    x = _images(2, 3, 4, 5)
    y = x.to(memory_format=LAST)
    assert y.stride() == (60, 1, 15, 3)
    assert y.is_contiguous(memory_format=LAST)
    assert not y.is_contiguous()
    assert not x.is_contiguous(memory_format=LAST)
    assert genesis.equal(x, y)
    assert y.contiguous(memory_format=LAST) is y
    assert y.contiguous().stride() == x.stride()


def test_three_spatial_dimensions():
    x = _images(2, 3, 2, 2, 2).contiguous(memory_format=genesis.channels_last_3d)
    assert x.stride() == (24, 1, 12, 6, 3)
    assert x.is_contiguous(memory_format=genesis.channels_last_3d)


def test_elementwise_results_and_copies_keep_the_layout():
    x = _images(2, 3, 4, 5).to(memory_format=LAST)
    for y in (x + 1, x.relu(), x.clone(), genesis.zeros_like(x), genesis.empty_like(x)):
        assert y.is_contiguous(memory_format=LAST)
    assert x.clone(memory_format=genesis.contiguous_format).is_contiguous()
    assert genesis.ones_like(_images(1, 2, 3, 4), memory_format=LAST).stride() == (24, 1, 8, 2)
    assert genesis.empty(2, 3, 4, 5, memory_format=LAST).stride() == (60, 1, 15, 3)


def test_gradients_pass():
    x = genesis.randn(2, 3, 2, 2, dtype=genesis.float64, requires_grad=True)
    assert genesis.autograd.gradcheck(lambda t: t.to(memory_format=LAST) * 2, x)
    assert genesis.autograd.gradgradcheck(lambda t: t.clone(memory_format=LAST) ** 2, x)


def test_layers_give_the_same_values_in_either_layout():
    genesis.manual_seed(0)
    model = genesis.nn.Sequential(
        genesis.nn.Conv2d(3, 8, 3, padding=1), genesis.nn.BatchNorm2d(8), genesis.nn.ReLU(),
        genesis.nn.MaxPool2d(2), genesis.nn.Conv2d(8, 8, 3, groups=8), genesis.nn.AdaptiveAvgPool2d(1),
    )  # fmt: skip
    x = genesis.randn(2, 3, 8, 8)
    expected = copy.deepcopy(model)(x)
    last = model.to(memory_format=LAST)
    assert last[0].weight.is_contiguous(memory_format=LAST)
    np.testing.assert_allclose(
        last(x.to(memory_format=LAST)).detach(), expected.detach(), 1e-5, 1e-6
    )


def test_what_cannot_be():
    with pytest.raises(ValueError, match=r"channels_last needs 4 dimensions, got shape \(2, 3\)"):
        _images(2, 3).to(memory_format=LAST)
    with pytest.raises(TypeError, match="memory_format"):
        _images(2, 3).contiguous(memory_format="channels_last")
    assert not _images(2, 3).is_contiguous(memory_format=LAST)


def test_formats_have_names():
    assert repr(LAST) == "genesis.channels_last"
    assert pickle.loads(pickle.dumps(LAST)) is LAST
