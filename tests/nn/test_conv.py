"""Convolution layers and kernels: PyTorch, a naive oracle, threads, instruction sets."""

import hashlib
import itertools

import genesis
import numpy as np
import pytest
from genesis import nn

from tests.instruction_sets import NARROWER, run_tests
from tests.ops.table.conv import conv, conv_transpose

LAYERS = [
    (nn.Conv1d, (2, 6, 11), dict(kernel_size=3, stride=2, padding=1)),
    (nn.Conv1d, (2, 6, 11), dict(kernel_size=4, padding="same", dilation=2, padding_mode="reflect")),
    (nn.Conv2d, (2, 6, 9, 8), dict(kernel_size=(3, 2), padding="same")),
    (nn.Conv2d, (2, 6, 9, 8), dict(kernel_size=3, padding="valid", groups=3, bias=False)),
    (nn.Conv2d, (2, 6, 9, 8), dict(kernel_size=3, padding=(2, 1), padding_mode="circular")),
    (nn.Conv2d, (2, 6, 9, 8), dict(kernel_size=3, padding=2, stride=2, padding_mode="replicate")),
    (nn.Conv2d, (6, 9, 8), dict(kernel_size=5, padding=2, dilation=(2, 1))),
    (nn.Conv3d, (1, 6, 5, 6, 4), dict(kernel_size=3, padding=1, padding_mode="reflect")),
    (nn.ConvTranspose1d, (2, 6, 7), dict(kernel_size=3, stride=2, padding=1, output_padding=1)),
    (nn.ConvTranspose2d, (2, 6, 7, 5), dict(kernel_size=(3, 4), stride=(2, 3), groups=2, dilation=2)),
    (nn.ConvTranspose3d, (1, 6, 3, 4, 3), dict(kernel_size=2, stride=2, bias=False)),
]  # fmt: skip


@pytest.mark.parametrize("layer, shape, kwargs", LAYERS)
@pytest.mark.filterwarnings("ignore")  # of PyTorch: its copy for even kernels with padding 'same'
def test_layer_is_pytorchs(layer, shape, kwargs, rng):
    torch = pytest.importorskip("torch")
    ours = layer(6, 12, **kwargs)
    theirs = getattr(torch.nn, layer.__name__)(6, 12, **kwargs)
    assert repr(ours) == repr(theirs)
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    array = rng.normal(size=shape).astype(np.float32)
    x, x_ = genesis.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    y, y_ = ours(x), theirs(x_)
    np.testing.assert_allclose(y.detach().numpy(), y_.detach().numpy(), rtol=1e-4, atol=1e-5)
    y.square().sum().backward()
    y_.square().sum().backward()
    for a, b in zip([x, *ours.parameters()], [x_, *theirs.parameters()], strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-3, atol=1e-4)


def test_parameters_begin_uniform_within_their_bound():
    genesis.manual_seed(0)
    layer = nn.Conv2d(16, 64, 3)
    bound = (16 * 9) ** -0.5
    assert 0.98 * bound < layer.weight.abs().max().item() <= bound
    assert 0.9 * bound < layer.bias.abs().max().item() <= bound


def test_output_size_chooses_among_the_sizes_that_a_stride_leaves_open():
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = genesis.ones(1, 2, 5, 5)
    assert layer(x, output_size=(10, 9)).shape == (1, 3, 10, 9)
    assert layer(x, output_size=genesis.Size([1, 3, 9, 10])).shape == (1, 3, 9, 10)
    with pytest.raises(ValueError, match="gives size 9 to 10"):
        layer(x, output_size=(11, 10))
    with pytest.raises(ValueError, match="must have 2 numbers"):
        layer(x, output_size=(10, 10, 10))


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "in_channels=3 must be divisible by groups=2"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), "out_channels=3 must be divisible by groups=2"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), "groups must be positive"),
        (lambda: nn.Conv2d(4, 4, (3, 3, 3)), "kernel_size must be one number or 2"),
        (lambda: nn.Conv2d(4, 4, 3, stride=2, padding="same"), "needs stride 1"),
        (lambda: nn.Conv2d(4, 4, 3, padding="full"), "'same', 'valid' or numbers"),
        (lambda: nn.Conv2d(4, 4, 3, padding_mode="mirror"), "padding_mode must be"),
        (lambda: nn.ConvTranspose2d(4, 4, 3, padding_mode="reflect"), "must be 'zeros'"),
        (
            lambda: nn.Conv2d(1, 1, 3, padding=3, padding_mode="reflect")(genesis.ones(1, 1, 3, 3)),
            "can add at most 2 elements",
        ),
    ],
)
def test_bad_arguments(make, text):
    with pytest.raises(ValueError, match=text):
        make()


# --- kernels: shapes on both sides of every branch (vector widths, tiles, strips, chunks, groups)

SHAPES = [
    # batch, channels in and out of a group, groups, size, kernel, stride, padding, dilation
    (2, 3, 5, 1, (9, 10), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 1, 1, 20, (12, 17), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 1, 2, 5, (13, 33), (5, 3), (2, 2), (2, 0), (1, 2)),
    (1, 40, 70, 1, (6, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 17, 33, 2, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 8, 9, 1, (16, 16), (1, 1), (2, 2), (0, 0), (1, 1)),
    (1, 4, 6, 1, (70, 300), (3, 3), (1, 1), (1, 1), (1, 1)),
    (5, 7, 10, 1, (1, 1), (3, 3), (1, 1), (1, 1), (1, 1)),
    (9, 20, 3, 1, (4, 3), (2, 3), (3, 2), (1, 2), (2, 1)),
    (1, 2, 40, 1, (23, 19), (7, 7), (2, 2), (3, 3), (1, 1)),
    (9, 20, 18, 1, (4, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    (6, 8, 20, 2, (5, 5), (5, 5), (1, 1), (0, 0), (1, 1)),
    (3, 40, 30, 1, (31, 33), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 33, 20, 1, (9, 17), (1, 1), (1, 1), (0, 0), (1, 1)),
    (9, 20, 40, 1, (4, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    (11, 5, 33, 2, (3, 5), (2, 2), (2, 1), (1, 0), (1, 1)),
    (7, 100, 30, 1, (2, 2), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 30, 26, 1, (12, 50), (3, 3), (1, 3), (0, 2), (2, 1)),
    (2, 26, 26, 1, (7, 9), (2, 2), (3, 3), (0, 0), (1, 1)),
    (2, 1, 1, 13, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 1, 1, 7, (5, 6), (3, 2), (1, 1), (3, 0), (2, 1)),
    (2, 1, 1, 5, (9, 3), (5, 5), (1, 1), (2, 2), (1, 1)),
    (2, 1, 1, 3, (14, 15), (7, 7), (1, 1), (3, 3), (1, 1)),
    (2, 1, 1, 4, (7, 6), (3, 3), (2, 2), (1, 1), (1, 1)),
    (33, 9, 10, 1, (3, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    (40, 8, 20, 2, (4, 4), (4, 4), (1, 1), (0, 0), (1, 1)),
    (34, 12, 9, 1, (6, 5), (3, 3), (2, 2), (1, 1), (1, 1)),
    (32, 8, 8, 1, (5, 2), (2, 1), (3, 1), (0, 0), (1, 1)),
    (6, 20, 24, 1, (17, 31), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 17, 33, 2, (14, 100), (3, 3), (1, 1), (2, 0), (1, 1)),
    (2, 210, 16, 1, (24, 25), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 130, 130, 1, (13, 13), (3, 3), (1, 1), (1, 1), (1, 1)),
]


def close(actual, expected, tolerance):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(actual.numpy(), expected, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 3e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_kernels_against_the_oracle(shape, dtype, tolerance, rng):
    """Forward and all gradients; those of x and w by the linearity of the map in each of them."""
    batch, ins, outs, groups, size, kernel, stride, padding, dilation = shape
    x = rng.normal(size=(batch, ins * groups, *size)).astype(dtype)
    w = rng.normal(size=(outs * groups, ins, *kernel)).astype(dtype)
    options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    b = rng.normal(size=outs * groups).astype(dtype)
    expected = conv(x.astype(np.float64), w.astype(np.float64), **options)
    expected += b.astype(np.float64)[:, None, None]
    g = [genesis.tensor(a, dtype=getattr(genesis, dtype), requires_grad=True) for a in (x, w, b)]
    y = nn.functional.conv2d(*g, **options)
    close(y.detach(), expected, tolerance)
    dy = rng.normal(size=expected.shape).astype(dtype)
    y.backward(genesis.tensor(dy, dtype=y.dtype))
    rest = [
        n + 2 * p - (k - 1) * d - 1 - (m - 1) * s
        for n, p, k, d, m, s in zip(
            size, padding, kernel, dilation, dy.shape[2:], stride, strict=True
        )
    ]
    back = conv_transpose(
        dy.astype(np.float64), w.astype(np.float64), None, stride, padding, rest, groups, dilation
    )
    close(g[0].grad, back, tolerance)
    close(g[2].grad, dy.astype(np.float64).sum((0, 2, 3)), tolerance)
    if all(r < max(s, d) for r, s, d in zip(rest, stride, dilation, strict=True)):
        ones = genesis.ones(ins * groups, dtype=y.dtype)
        more = stride, padding, rest, groups, dilation
        top = genesis.tensor(dy, dtype=y.dtype)
        close(nn.functional.conv_transpose2d(top, g[1].detach(), ones, *more), back + 1, tolerance)
    # <dw, v> = <dy, conv(x, v)> for some directions v
    for _ in range(3):
        v = rng.normal(size=w.shape)
        wanted = (dy * conv(x.astype(np.float64), v, **options)).sum()
        scale = np.abs(dy).sum() * np.abs(x).max() * 3
        assert abs((g[1].grad.numpy() * v).sum() - wanted) < tolerance * scale


def _digest() -> str:
    """Of the results of all kernels over the shapes above."""
    rng = np.random.default_rng(3)
    digest = hashlib.sha256()
    for batch, ins, outs, groups, size, kernel, stride, padding, dilation in SHAPES:
        x = genesis.tensor(
            rng.normal(size=(batch, ins * groups, *size)).astype("f"), requires_grad=True
        )
        w = genesis.tensor(
            rng.normal(size=(outs * groups, ins, *kernel)).astype("f"), requires_grad=True
        )
        y = nn.functional.conv2d(x, w, None, stride, padding, dilation, groups)
        y.square().sum().backward()
        pooled = (
            nn.functional.max_pool2d(y, 2, 1, 1).sum() + nn.functional.avg_pool2d(y, 2, 1, 1).sum()
        )
        for t in (y, x.grad, w.grad, pooled):
            digest.update(t.detach().numpy().tobytes())
    return digest.hexdigest()


def test_results_do_not_depend_on_the_number_of_threads(num_threads):
    digests = set()
    for n in (1, 2, 7):
        genesis.set_num_threads(n)
        digests.add(_digest())
    assert len(digests) == 1


@pytest.mark.parametrize("isa", NARROWER)
def test_narrower_instruction_sets(isa):
    tests = [f"{__file__}::test_kernels_against_the_oracle"]
    tests += [f"{__file__}::test_results_do_not_depend_on_the_number_of_threads"]
    run_tests(isa, *tests)


@pytest.mark.parametrize("size", [7, 20])
def test_infinity_stays_where_it_is_seen(size):
    """Vectors that run over the ends of lines do not carry it to outputs or taps beyond them."""
    x = genesis.ones(2, 3, size, size)
    x[1, 1, 0, size - 1] = float("inf")
    w = genesis.ones(3, 1, 3, 3, requires_grad=True)
    y = nn.functional.conv2d(x, w, padding=1, groups=3)
    outputs = np.argwhere(~np.isfinite(y.detach().numpy())).tolist()
    assert outputs == [[1, 1, i, j] for i in (0, 1) for j in (size - 2, size - 1)]
    y.backward(genesis.ones_like(y))
    taps = np.argwhere(~np.isfinite(w.grad.numpy())).tolist()
    assert taps == [[1, 0, i, j] for i in (0, 1) for j in (1, 2)]


@pytest.mark.parametrize("value", [float("inf"), 3e38])
def test_what_is_infinite_is_not_nan(value):
    """Nor is anything else, though 3 x 3 taps are summed by differences of inputs."""
    x = genesis.ones(2, 16, 20, 21)
    x[1, 3, 6:8, 6:8] = value
    y = nn.functional.conv2d(x, genesis.ones(16, 16, 3, 3), padding=1).numpy()
    expected = np.zeros(y.shape, bool)
    expected[1, :, 5:9, 5:9] = True
    if np.isfinite(value):
        expected[1, :, [5, 5, 8, 8], [5, 8, 5, 8]] = False
    np.testing.assert_array_equal(np.isposinf(y), expected)
    assert not np.isnan(y).any()


def test_half_precision_computes_in_float32(rng):
    x = genesis.tensor(rng.normal(size=(1, 64, 6, 6)).astype("f")).bfloat16()
    w = genesis.tensor(rng.normal(size=(4, 64, 3, 3)).astype("f")).bfloat16()
    y = nn.functional.conv2d(x, w)
    assert y.dtype == genesis.bfloat16
    exact = nn.functional.conv2d(x.float(), w.float())
    assert ((y.float() - exact).abs() <= exact.abs() * 2**-8).all()


def test_inputs_that_are_views(rng):
    base = rng.normal(size=(2, 9, 7, 4))
    x = genesis.tensor(base, dtype=genesis.float64).permute(0, 3, 1, 2)  # channels last
    w = genesis.tensor(rng.normal(size=(3, 4, 3, 6)), dtype=genesis.float64)[..., ::2]
    close(nn.functional.conv2d(x, w), conv(base.transpose(0, 3, 1, 2), w.numpy()), 1e-12)
    expanded = genesis.ones(1, 4, 1, 1, dtype=genesis.float64).expand(2, 4, 5, 5)
    close(nn.functional.conv2d(expanded, w), conv(np.ones((2, 4, 5, 5)), w.numpy()), 1e-12)


def test_results_of_small_images_lie_as_their_operands():
    """Though they are computed with the channels last."""
    x = genesis.ones(32, 8, 3, 2, requires_grad=True)
    for kernel, expected in ((3, 2), (8, 1, 1, 1)), ((2, 2), (16, 2, 1, 1)):
        y = nn.functional.conv2d(x, genesis.ones(8, 8, *kernel))
        assert y.stride() == expected
        (dx,) = genesis.autograd.grad(y.sum(), x)
        assert dx.stride() == x.stride()


def test_third_derivative(rng):
    """Gradients of gradients of gradients: the three maps are each other's rules."""
    x, w = (genesis.tensor(rng.normal(size=s), dtype=genesis.float64, requires_grad=True)
            for s in ((1, 2, 4, 4), (2, 2, 3, 3)))  # fmt: skip

    def second(x, w):
        y = nn.functional.conv2d(x, w, padding=1).pow(3).sum()
        (dw,) = genesis.autograd.grad(y, w, create_graph=True)
        (dx,) = genesis.autograd.grad(dw.pow(2).sum(), x, create_graph=True)
        return dx

    assert genesis.autograd.gradcheck(second, (x, w), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 8])
@pytest.mark.parametrize("stride", [1, 3])
def test_long_sequences(groups, stride, rng):
    """Lines that are cut into strips of their own."""
    x = rng.normal(size=(1, 8, 40001)).astype(np.float32)
    w = rng.normal(size=(8, 8 // groups, 5)).astype(np.float32)
    options = dict(stride=stride, padding=2, groups=groups)
    g = [genesis.tensor(a, requires_grad=True) for a in (x, w)]
    y = nn.functional.conv1d(*g, **options)
    close(y.detach(), conv(x, w, **options), 1e-5)
    y.sum().backward()
    ones = np.ones(tuple(y.shape))
    rest = (40001 + 4 - 5) - (y.shape[-1] - 1) * stride
    close(g[0].grad, conv_transpose(ones, w, None, stride, 2, rest, groups), 1e-5)
    padded = np.pad(x[0], [(0, 0), (2, 2)])
    sums = [padded[:, t : t + (y.shape[-1] - 1) * stride + 1 : stride].sum(1) for t in range(5)]
    wanted = (
        np.stack(sums, 1).reshape(1, 8, 5) if groups == 1 else np.stack(sums, 1).reshape(8, 1, 5)
    )
    np.testing.assert_allclose(
        g[1].grad.numpy(), np.broadcast_to(wanted, w.shape), rtol=1e-3, atol=1e-1
    )


def test_padding_same_keeps_every_size():
    for size, kernel, dilation in itertools.product((1, 4, 7), (1, 2, 3, 4), (1, 2)):
        y = nn.Conv1d(1, 1, kernel, padding="same", dilation=dilation)(genesis.ones(1, 1, size))
        assert y.shape == (1, 1, size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "stride, dilation, more",
    [((3, 2), (4, 4), (2, 3)), ((4, 4), (2, 4), (0, 0)), ((2, 5), (2, 5), (1, 1))],
)
def test_phases_of_a_transposed_convolution_that_no_tap_meets(stride, dilation, more, dtype, rng):
    x = rng.normal(size=(2, 2, 4, 4)).astype(dtype)
    w = rng.normal(size=(2, 2, 4, 5)).astype(dtype)
    options = dict(stride=stride, padding=(1, 2), output_padding=more, groups=2, dilation=dilation)
    for _ in range(20):  # writing past the end shows itself late
        y = nn.functional.conv_transpose2d(
            genesis.tensor(x, dtype=genesis.float64 if dtype == np.float64 else None),
            genesis.tensor(w, dtype=genesis.float64 if dtype == np.float64 else None),
            **options,
        )
    close(y, conv_transpose(x, w, None, stride, (1, 2), more, 2, dilation), 1e-5)
