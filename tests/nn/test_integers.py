"""Functions of layers on integers and bytes, where PyTorch's take them."""

import itertools

import genesis
import numpy as np
import pytest
from genesis.nn import functional as F

from tests.ops.table.resample import matrix

INTS = ["uint8", "int8", "int16", "int32", "int64"]


def same(ours, theirs):
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def both(torch, array):
    return genesis.tensor(array), torch.tensor(array)


@pytest.mark.parametrize("dtype", INTS)
def test_convolution_wraps_around(dtype):
    x, w = np.full((1, 1, 4), 100, dtype), np.full((1, 1, 2), 3, dtype)
    y = F.conv1d(genesis.tensor(x), genesis.tensor(w))
    np.testing.assert_array_equal(y.numpy(), np.full((1, 1, 3), 600).astype(dtype))


def test_large_integers_stay_exact():
    x = 2**62 + np.arange(9).reshape(1, 1, 3, 3)
    assert F.max_pool2d(genesis.tensor(x), 2, 1).tolist() == [[(x[0, 0, 1:, 1:]).tolist()]]
    assert F.conv2d(genesis.tensor(x), genesis.ones(1, 1, 1, 1, dtype=genesis.int64)).equal(
        genesis.tensor(x)
    )
    assert F.hardtanh(genesis.tensor(x), 0, 2**62 + 4).max() == 2**62 + 4


def test_the_smallest_integer_is_found_in_the_picture_and_not_in_the_padding():
    x = genesis.full((1, 1, 4, 4), -(2**63), dtype=genesis.int64)
    values, places = F.max_pool2d(x, 2, padding=1, return_indices=True)
    assert (values == -(2**63)).all()
    assert places.tolist() == [[[[0, 1, 3], [4, 5, 7], [12, 13, 15]]]]


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2, "stride": 1},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
        {"kernel_size": 4, "stride": 3, "ceil_mode": True},
    ],
)
def test_means_of_integers_are_cut(spatial, options):
    """Towards zero, and equal to the mean of the same numbers as floats."""
    x = np.random.default_rng(spatial).integers(-20, 21, (2, 3) + (6,) * spatial)
    pool = getattr(F, f"avg_pool{spatial}d")
    means = pool(genesis.tensor(x).double(), **options).numpy()
    y = pool(genesis.tensor(x), **options)
    assert y.dtype == genesis.int64
    np.testing.assert_array_equal(y.numpy(), np.trunc(means + np.sign(means) * 1e-9))


def test_means_of_integers_by_a_divisor_and_refusals():
    x = genesis.tensor([[[[-7, -2, 3, 5]]]])
    assert F.avg_pool2d(x, (1, 2), 1, divisor_override=3).tolist() == [[[[-3, 0, 2]]]]
    assert F.avg_pool2d(x[:0], (1, 2)).shape == (0, 1, 1, 2)
    with pytest.raises(TypeError, match="avg_pool2d: input must be floating or int64, got int32"):
        F.avg_pool2d(x.int(), (1, 2))
    with pytest.raises(TypeError, match="adaptive_max_pool2d: input must be floating, got int64"):
        F.adaptive_max_pool2d(x, 1)


@pytest.mark.parametrize("dtype", INTS)
def test_l1_loss(dtype):
    x, y = genesis.tensor(np.array([1, 5], dtype)), genesis.tensor(np.array([0, 9], dtype))
    each = F.l1_loss(x, y, reduction="none")
    assert each.dtype == x.dtype
    assert each.tolist() == [1, 252 if dtype == "uint8" else 4]  # the difference wraps around
    total = F.l1_loss(x, y, reduction="sum")
    assert total.dtype == genesis.int64 and total == each.sum()
    with pytest.raises(TypeError, match="l1_loss: integers .* have no mean; use input.float()"):
        F.l1_loss(x, y)
    with pytest.raises(ValueError, match="l1_loss: shapes .* do not broadcast"):
        F.l1_loss(x, genesis.zeros(3, dtype=genesis.int64), reduction="sum")


def test_bilinear_of_bytes_wraps_around():
    x = genesis.tensor(np.array([[100, 2]], np.int8))
    w = genesis.full((1, 2, 2), 5, dtype=genesis.int8)
    assert F.bilinear(x, x, w).tolist() == [[int(np.int64(102 * 102 * 5).astype(np.int8))]]


def test_addbmm_in_place_grows():
    batches = genesis.ones(2, 3, 4), genesis.ones(2, 4, 5)
    for shape in ((), (1,), (5,), (1, 5), (3, 1), (3, 5)):
        x = genesis.full(shape, 2.0)
        assert x.addbmm_(*batches) is x
        assert genesis.equal(x, genesis.full((3, 5), 10.0))
    with pytest.raises(ValueError, match="broadcast"):
        genesis.ones(2, 5).addbmm_(*batches)
    whole = genesis.ones(2, 5)
    with pytest.raises(ValueError, match="addbmm_: growing .* other tensors"):
        whole[1].addbmm_(*batches)
    x = genesis.ones(5, requires_grad=True) * 1
    with pytest.raises(ValueError, match="addbmm_: the result has shape"):
        x.addbmm_(*batches)
    assert x.shape == (5,) and whole.eq(1).all()


def test_fractional_pooling_of_no_images():
    for spatial, pool in ((2, F.fractional_max_pool2d), (3, F.fractional_max_pool3d)):
        x = genesis.zeros(0, 2, *(5,) * spatial, requires_grad=True)
        values, places = pool(x, 2, 3, return_indices=True)
        assert values.shape == places.shape == (0, 2) + (3,) * spatial
        values.sum().backward()
        assert x.grad.shape == x.shape


# ----- bytes at other sizes


MODES = [
    ("bilinear", {}),
    ("bilinear", {"align_corners": True}),
    ("bilinear", {"antialias": True}),
    ("bicubic", {}),
    ("bicubic", {"align_corners": True}),
    ("bicubic", {"antialias": True}),
]
SIZES = [((7, 9), (4, 5)), ((5, 4), (9, 11)), ((6, 5), (6, 3)), ((3, 8), (1, 8)), ((2, 1), (5, 4))]


@pytest.mark.parametrize("mode, options", MODES)
def test_bytes_are_near_the_exact_numbers(mode, options):
    rng = np.random.default_rng(3)
    for (h, w), size in SIZES:
        x = rng.integers(0, 256, (2, 3, h, w)).astype(np.uint8)
        rows, columns = (
            matrix(n, m, mode, options.get("align_corners"), None, options.get("antialias"))
            for n, m in ((h, size[0]), (w, size[1]))
        )
        # Rounded after each direction, the last first.
        wide = np.clip(np.rint(x @ columns.T), 0, 255)
        exact = np.clip(rows @ wide, 0, 255)
        y = F.interpolate(genesis.tensor(x), size, mode=mode, **options)
        assert y.dtype == genesis.uint8
        assert np.abs(y.numpy() - exact).max() <= 2


@pytest.mark.parametrize("mode, options", MODES)
def test_bytes_as_in_torch(mode, options):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    for (h, w), size in SIZES:
        for sizes in ({"size": size}, {"scale_factor": (1.7, 0.6)}):
            if "scale_factor" in sizes and w * 0.6 < 1:
                continue
            for last in (False, True):
                ours, theirs = both(torch, rng.integers(0, 256, (2, 3, h, w)).astype(np.uint8))
                if last:
                    ours = ours.contiguous(memory_format=genesis.channels_last)
                y = F.interpolate(ours, mode=mode, **sizes, **options)
                same(y, torch.nn.functional.interpolate(theirs, mode=mode, **sizes, **options))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_nearest_bytes(mode, spatial):
    rng = np.random.default_rng(spatial)
    for n, sizes in itertools.product((3, 7), ({"size": 5}, {"scale_factor": 1.9}, {"size": 14})):
        x = rng.integers(0, 256, (1, 2) + (n,) * spatial).astype(np.uint8)
        y = F.interpolate(genesis.tensor(x), mode=mode, **sizes)
        assert y.dtype == genesis.uint8
        wide = F.interpolate(genesis.tensor(x).float(), mode=mode, **sizes)
        np.testing.assert_array_equal(y.numpy(), wide.numpy())


# ----- halves in bins


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_histc_at_the_edges_as_in_torch(dtype):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    for bins in (1, 3, 7, 19):
        low, high = np.sort(rng.normal(size=2) * 3).tolist()
        x = torch.linspace(low, high, bins + 1, dtype=getattr(torch, dtype))
        x = torch.cat([x, torch.tensor(rng.normal(size=30) * 3, dtype=x.dtype)])
        y = genesis.tensor(x.double().numpy(), dtype=dtype)
        ours, theirs = y.histc(bins, low, high), x.histc(bins, low, high)
        assert ours.dtype == y.dtype
        np.testing.assert_array_equal(ours.float().numpy(), theirs.float().numpy())


def test_histc_of_many_halves_counts_all():
    x = genesis.ones(5000, dtype=genesis.float16)
    assert x.histc(2, 0, 2).tolist() == [0.0, 5000.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_histogram_and_matrix_exp_of_halves(dtype):
    x = genesis.tensor([0.0, 0.1, 0.25, 0.5, 0.75, 1.0], dtype=dtype)
    counts, edges = x.histogram(genesis.tensor([0.0, 0.25, 1.0], dtype=dtype))
    assert counts.dtype == edges.dtype == x.dtype and counts.tolist() == [2.0, 4.0]
    counts, edges = x.histogram(4, range=(0.0, 1.0))
    assert counts.tolist() == [2.0, 1.0, 1.0, 2.0]
    a = genesis.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=dtype, requires_grad=True)
    y = genesis.matrix_exp(a)
    assert y.dtype == a.dtype
    assert y.equal(genesis.matrix_exp(a.float()).to(a.dtype))
    y.sum().backward()
    assert a.grad.dtype == a.dtype


def test_one_step_may_be_a_bool():
    assert genesis.linspace(2, 3, 1, dtype=genesis.bool).tolist() == [True]
    assert genesis.linspace(0, 3, 1, dtype=genesis.bool).tolist() == [False]
    assert genesis.logspace(0, 3, 1, dtype=genesis.bool).tolist() == [True]
