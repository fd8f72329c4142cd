"""Images with their channels last, through convolutions, pooling and norms: layout, values, gradients."""

import hashlib
import itertools

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck, gradgradcheck

from tests.instruction_sets import NARROWER, run_tests

f = nn.functional
LAST, LAST_3D = genesis.channels_last, genesis.channels_last_3d


def format_of(x):
    return LAST if x.dim() == 4 else LAST_3D


def last(x):
    return x.to(memory_format=format_of(x))


# batch, channels in and out of a group, groups, size, kernel, stride, padding, dilation
CONVS = [
    (2, 3, 5, 1, (9, 10), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 20, 17, 1, (6, 7), (3, 2), (2, 1), (2, 0), (1, 2)),
    (1, 40, 70, 1, (31, 33), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 33, 18, 1, (7, 5), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 8, 9, 1, (16, 15), (1, 1), (2, 2), (0, 0), (1, 1)),
    (2, 4, 3, 1, (5, 4), (2, 2), (3, 3), (1, 1), (1, 1)),
    (3, 1, 1, 20, (12, 17), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 1, 1, 67, (9, 8), (3, 5), (2, 3), (2, 2), (2, 1)),
    (2, 2, 3, 4, (8, 9), (3, 3), (1, 2), (1, 1), (1, 1)),
    (2, 3, 4, 1, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2)),
    (1, 1, 1, 6, (4, 5, 3), (3, 2, 2), (2, 1, 1), (1, 1, 0), (1, 1, 1)),
    (2, 1, 1, 70, (9, 19), (7, 7), (1, 1), (3, 3), (1, 1)),
    # sums of runs: lines in a grid, in place, in strips; images; groups; inputs that no tap reaches
    (2, 26, 33, 2, (9, 10), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 28, 26, 1, (11, 13), (3, 3), (2, 2), (1, 1), (1, 1)),
    (2, 30, 40, 1, (12, 11), (3, 3), (1, 1), (2, 2), (2, 2)),
    (2, 24, 50, 1, (8, 7), (2, 2), (1, 1), (0, 0), (1, 1)),
    (1, 64, 30, 1, (45, 44), (3, 3), (1, 1), (1, 1), (1, 1)),
    (20, 26, 30, 1, (3, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    (15, 24, 25, 2, (4, 4), (4, 4), (1, 1), (0, 0), (1, 1)),
    (2, 25, 24, 2, (9, 9), (1, 1), (2, 2), (0, 0), (1, 1)),
    (9, 24, 24, 1, (5, 6), (2, 2), (3, 3), (0, 1), (1, 1)),
    (2, 3, 24, 1, (17, 16), (5, 5), (2, 2), (2, 2), (1, 1)),
    (2, 24, 26, 1, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2)),
    (1, 24, 24, 2, (3, 4, 5), (3, 3, 3), (2, 1, 2), (1, 1, 1), (1, 1, 1)),
]  # fmt: skip
POOLS = [
    ("max_pool2d", (2, 5, 9, 8), (3, 2, 1)),
    ("max_pool2d", (2, 67, 7, 8), ((2, 3), (2, 1), (0, 1), (1, 2), True)),
    ("max_pool3d", (2, 3, 5, 6, 4), (2,)),
    ("avg_pool2d", (2, 5, 9, 8), (3, 2, 1)),
    ("avg_pool2d", (2, 70, 7, 6), (2, 1, 1, True, False)),
    ("avg_pool3d", (2, 3, 5, 6, 4), (2, 1, 1, False, True, 5)),
    ("adaptive_max_pool2d", (2, 5, 9, 8), ((4, 3),)),
    ("adaptive_avg_pool2d", (2, 5, 9, 8), ((4, 3),)),
    ("adaptive_avg_pool2d", (2, 18, 7, 7), (1,)),
    ("adaptive_max_pool3d", (1, 3, 5, 4, 4), (2,)),
]


def problem(case, dtype, rng):
    batch, ins, outs, groups, size, kernel, stride, padding, dilation = case
    x = genesis.tensor(rng.normal(size=(batch, ins * groups, *size)), dtype=dtype)
    w = genesis.tensor(rng.normal(size=(outs * groups, ins, *kernel)), dtype=dtype)
    b = genesis.tensor(rng.normal(size=outs * groups), dtype=dtype)
    conv = getattr(f, f"conv{len(size)}d")
    return x, w, b, lambda x, w, b: conv(x, w, b, stride, padding, dilation, groups)


@pytest.mark.parametrize("dtype, tolerance", [(genesis.float32, 1e-4), (genesis.float64, 1e-11)])
@pytest.mark.parametrize("case", CONVS, ids=str)
def test_convolutions_give_the_same_as_with_the_channels_first(case, dtype, tolerance, rng):
    x, w, b, conv = problem(case, dtype, rng)
    expected_leaves = [t.clone().requires_grad_() for t in (x, w, b)]
    leaves = [last(x).requires_grad_(), last(w).requires_grad_(), b.clone().requires_grad_()]
    expected, y = conv(*expected_leaves), conv(*leaves)
    assert y.is_contiguous(memory_format=format_of(y))
    dy = genesis.tensor(rng.normal(size=tuple(y.shape)), dtype=dtype)
    first = genesis.autograd.grad(expected, expected_leaves, dy)
    second = genesis.autograd.grad(y, leaves, dy)
    for a, e in zip((y, *second), (expected, *first), strict=True):
        genesis.testing.assert_close(a.contiguous(), e, rtol=tolerance, atol=tolerance * 20)
    for a in second[:2]:
        assert a.is_contiguous(memory_format=format_of(a))


@pytest.mark.parametrize("case", CONVS, ids=str)
def test_transposed_convolutions(case, rng):
    batch, ins, outs, groups, size, kernel, stride, padding, dilation = case
    shapes = (batch, outs * groups, *size), (outs * groups, ins, *kernel), ins * groups
    x, w, b = (genesis.tensor(rng.normal(size=s), dtype=genesis.float64) for s in shapes)
    conv = getattr(f, f"conv_transpose{len(size)}d")
    y = conv(last(x), last(w), b, stride, padding, 0, groups, dilation)
    assert y.is_contiguous(memory_format=format_of(y))
    expected = conv(x, w, b, stride, padding, 0, groups, dilation)
    genesis.testing.assert_close(y.contiguous(), expected)


@pytest.mark.parametrize("name, shape, args", POOLS, ids=str)
def test_pools_give_the_same_as_with_the_channels_first(name, shape, args, rng):
    pool = getattr(f, name)
    more = dict(return_indices=True) if "max" in name else {}
    array = rng.integers(-3, 4, size=shape).astype(np.float32)  # many equal maxima
    x, z = (genesis.tensor(array, requires_grad=True) for _ in range(2))
    z = last(z.detach()).requires_grad_()
    expected, y = pool(x, *args, **more), pool(z, *args, **more)
    if more:
        assert y[1].is_contiguous(memory_format=format_of(z))
        assert genesis.equal(y[1].contiguous(), expected[1])
        expected, y = pool(x, *args), pool(z, *args)
    assert y.is_contiguous(memory_format=format_of(z))
    genesis.testing.assert_close(y.contiguous(), expected)
    dy = genesis.tensor(rng.normal(size=tuple(y.shape)).astype(np.float32))
    (dx,), (dz,) = (genesis.autograd.grad(a, b, dy) for a, b in ((expected, x), (y, z)))
    assert dz.is_contiguous(memory_format=format_of(z))
    genesis.testing.assert_close(dz.contiguous(), dx)


@pytest.mark.parametrize("case", [CONVS[1], CONVS[4], CONVS[7], CONVS[8], CONVS[10]], ids=str)
def test_gradients_of_convolutions_to_second_order(case, rng):
    _, ins, outs, groups, size, *rest = case
    small = (1, min(ins, 2), min(outs, 2), min(groups, 3), tuple(min(n, 5) for n in size), *rest)
    x, w, b, conv = problem(small, genesis.float64, rng)
    leaves = last(x).requires_grad_(), last(w).requires_grad_(), b.requires_grad_()
    assert gradcheck(conv, leaves)
    assert gradgradcheck(conv, leaves)


@pytest.mark.parametrize("name, shape, args", POOLS, ids=str)
def test_gradients_of_pools_to_second_order(name, shape, args, rng):
    shape = (1, 2, *shape[2:])
    x = genesis.tensor(rng.permutation(int(np.prod(shape))).reshape(shape), dtype=genesis.float64)
    x = last(x).requires_grad_()
    assert gradcheck(lambda x: getattr(f, name)(x, *args), x)
    assert gradgradcheck(lambda x: getattr(f, name)(x, *args).square(), x)


@pytest.mark.parametrize("batch, size", [(2, 12), (30, 4)])
def test_infinity_stays_where_it_is_seen(batch, size):
    """Copies, strides and zeros of the padding do not carry it to outputs or taps beyond."""
    x = last(genesis.ones(batch, 24, size, size))
    x[1, 1, 0, size - 1] = float("inf")
    w = last(genesis.ones(24, 24, 3, 3)).requires_grad_()
    y = f.conv2d(x, w, padding=1)
    outputs = np.argwhere(~np.isfinite(y.detach().numpy()[:, 0])).tolist()
    assert outputs == [[1, i, j] for i in (0, 1) for j in (size - 2, size - 1)]
    y.backward(genesis.ones_like(y))
    taps = np.argwhere(~np.isfinite(w.grad.numpy()[3])).tolist()
    assert taps == [[1, i, j] for i in (0, 1) for j in (1, 2)]


def test_nan_and_infinity_in_pools():
    x = last(genesis.tensor([[[[1.0, float("nan")], [5.0, 2.0]], [[float("-inf")] * 2] * 2]]))
    y, index = f.max_pool2d(x, 2, return_indices=True)
    assert index.flatten().tolist() == [1, 0]
    assert y[0, 0, 0, 0].isnan()
    assert y[0, 1, 0, 0].item() == float("-inf")


def test_norms_keep_the_layout(rng):
    x = genesis.tensor(rng.normal(size=(2, 6, 4, 5)), requires_grad=True)
    for norm in (
        lambda x: f.group_norm(x, 3),
        lambda x: f.batch_norm(x, None, None, training=True),
    ):
        z = last(x.detach()).requires_grad_()
        y = norm(z)
        assert y.is_contiguous(memory_format=LAST)
        genesis.testing.assert_close(y.contiguous(), norm(x))
        dy = genesis.tensor(rng.normal(size=(2, 6, 4, 5)))
        (dz,) = genesis.autograd.grad(y, z, dy)
        assert dz.is_contiguous(memory_format=LAST)
        genesis.testing.assert_close(dz.contiguous(), genesis.autograd.grad(norm(x), x, dy)[0])


def test_strides_are_pytorchs():
    torch = pytest.importorskip("torch")
    operations = [
        lambda f, x, w: f.conv2d(x, w),
        lambda f, x, w: f.conv2d(x, w, stride=2, padding=1),
        lambda f, x, w: f.conv_transpose2d(x, w.transpose(0, 1)),
        lambda f, x, w: f.max_pool2d(x, 2),
        lambda f, x, w: f.max_pool2d(x, 2, return_indices=True)[1],
        lambda f, x, w: f.avg_pool2d(x, 2, 1),
        lambda f, x, w: f.adaptive_avg_pool2d(x, 1),
        lambda f, x, w: f.group_norm(x, 1),
    ]

    def all_strides(lib, shape, kernel, image_last, weight_last):
        x, w = lib.ones(shape), lib.ones(2, shape[1], kernel, kernel)
        x = x.to(memory_format=lib.channels_last) if image_last else x
        w = w.to(memory_format=lib.channels_last) if weight_last else w
        found = [tuple(op(lib.nn.functional, x, w).stride()) for op in operations]
        found += [tuple(op(lib.nn.functional, x[0], w).stride()) for op in operations[:6]]
        x.requires_grad_(), w.requires_grad_()
        y = lib.nn.functional.conv2d(x, w, padding=1)
        gradients = lib.autograd.grad(y.sum(), (x, w), retain_graph=True)
        y.sum().backward()
        for g in (
            *gradients,
            x.grad,
            w.grad,
        ):  # where size 1 says nothing, PyTorch's backends differ
            found.append(tuple(s for s, n in zip(g.stride(), g.shape, strict=True) if n > 1))
        return found

    shapes = [((2, 4, 6, 5), 3), ((2, 4, 6, 5), 1), ((2, 1, 4, 4), 3), ((1, 3, 4, 4), 1)]
    for (shape, kernel), *layouts in itertools.product(shapes, (False, True), (False, True)):
        ours, theirs = (all_strides(lib, shape, kernel, *layouts) for lib in (genesis, torch))
        assert ours == theirs, (shape, kernel, layouts)


def test_empty_batches_and_slices(rng):
    w = last(genesis.tensor(rng.normal(size=(5, 3, 2, 2)))).requires_grad_()
    y = f.conv2d(genesis.empty(0, 3, 4, 4, dtype=w.dtype), w)
    assert y.shape == (0, 5, 3, 3)
    y.sum().backward()
    assert (w.grad == 0).all()
    whole = last(genesis.tensor(rng.normal(size=(2, 6, 9, 8))))
    part = whole[:, 1:4, :, 1:]
    y = f.conv2d(part, w)
    assert y.is_contiguous(memory_format=LAST)
    genesis.testing.assert_close(y.contiguous(), f.conv2d(part.contiguous(), w.contiguous()))
    pooled = f.max_pool2d(part, 2)
    assert pooled.is_contiguous(memory_format=LAST)
    genesis.testing.assert_close(pooled.contiguous(), f.max_pool2d(part.contiguous(), 2))


def test_half_precision_keeps_the_layout(rng):
    x = last(genesis.tensor(rng.normal(size=(1, 8, 6, 6)).astype("f"))).bfloat16()
    w = genesis.tensor(rng.normal(size=(4, 8, 3, 3)).astype("f")).bfloat16()
    for y in (f.conv2d(x, w), f.max_pool2d(x, 2), f.avg_pool2d(x, 2)):
        assert y.dtype == genesis.bfloat16
        assert y.is_contiguous(memory_format=LAST)


def digest() -> str:
    """Of everything above that has a kernel of its own."""
    rng = np.random.default_rng(5)
    found = hashlib.sha256()
    for case in CONVS:
        x, w, b, conv = problem(case, genesis.float32, rng)
        leaves = last(x).requires_grad_(), last(w).requires_grad_(), b.requires_grad_()
        y = conv(*leaves)
        for t in (y, *genesis.autograd.grad(y.square().sum(), leaves)):
            found.update(t.detach().contiguous().numpy().tobytes())
    for name, shape, args in POOLS:
        x = last(genesis.tensor(rng.normal(size=shape).astype("f"))).requires_grad_()
        y = getattr(f, name)(x, *args)
        for t in (y, *genesis.autograd.grad(y.square().sum(), x)):
            found.update(t.detach().contiguous().numpy().tobytes())
    return found.hexdigest()


def test_results_do_not_depend_on_the_number_of_threads(num_threads):
    digests = set()
    for n in (1, 2, 7):
        genesis.set_num_threads(n)
        digests.add(digest())
    assert len(digests) == 1


@pytest.mark.parametrize("isa", NARROWER)
def test_narrower_instruction_sets(isa):
    run_tests(isa, __file__, "-k", "give_the_same or threads")
