"""Sizes that no memory holds: a clear error at once, before anything is computed."""

import os
import subprocess
import sys

import genesis
import genesis.nn.functional as F
import numpy as np
import pytest

ones = genesis.ones
TOO_LARGE = (ValueError, MemoryError, OverflowError)
NEAR = [2**31 - 1, 2**31, 2**47, 2**61 + 3, 2**62, 2**63 - 4, 2**63 - 1]

# Each takes one number; none may crash, hang, or give a tensor that is not what its shape says.
CALLS = {
    "conv1d stride": lambda n: F.conv1d(ones(1, 1, 10), ones(1, 1, 3), stride=n),
    "conv1d padding": lambda n: F.conv1d(ones(1, 1, 10), ones(1, 1, 3), padding=n),
    "conv1d dilation": lambda n: F.conv1d(ones(1, 1, 10), ones(1, 1, 3), dilation=n),
    "conv1d both": lambda n: F.conv1d(ones(1, 1, 10), ones(1, 1, 3), stride=3, dilation=n),
    "conv1d same": lambda n: F.conv1d(ones(1, 1, 10), ones(1, 1, 3), padding="same", dilation=n),
    "conv1d groups": lambda n: F.conv1d(ones(1, 2, 10), ones(2, 1, 3), groups=n),
    "conv2d": lambda n: F.conv2d(ones(1, 1, 4, 4), ones(1, 1, 2, 2), stride=n, padding=n),
    "conv1d integer": lambda n: F.conv1d(
        ones(1, 1, 10, dtype=genesis.int64), ones(1, 1, 3, dtype=genesis.int64), padding=n
    ),
    "conv_transpose1d dilation": lambda n: F.conv_transpose1d(
        ones(1, 1, 4), ones(1, 1, 3), dilation=n
    ),
    "conv_transpose1d padding": lambda n: F.conv_transpose1d(
        ones(1, 1, 4), ones(1, 1, 3), padding=n
    ),
    "conv_transpose1d output_padding": lambda n: F.conv_transpose1d(
        ones(1, 1, 4), ones(1, 1, 3), stride=n, output_padding=n - 1
    ),
    "max_pool1d dilation": lambda n: F.max_pool1d(ones(1, 1, 8), 3, dilation=n),
    "max_pool1d kernel": lambda n: F.max_pool1d(ones(1, 1, 8), n),
    "max_pool1d padding": lambda n: F.max_pool1d(ones(1, 1, 8), n, padding=n // 2),
    "max_pool1d ceil": lambda n: F.max_pool1d(ones(1, 1, 8), 3, stride=n, ceil_mode=True),
    "avg_pool1d padding": lambda n: F.avg_pool1d(ones(1, 1, 8), n, stride=1, padding=n // 2),
    "avg_pool2d": lambda n: F.avg_pool2d(ones(1, 1, 8, 8), n, stride=n, padding=n // 2),
    "lp_pool1d": lambda n: F.lp_pool1d(ones(1, 1, 8), 2, n),
    "adaptive_avg_pool1d": lambda n: F.adaptive_avg_pool1d(ones(1, 1, 8), n),
    "adaptive_max_pool2d": lambda n: F.adaptive_max_pool2d(ones(1, 1, 8, 8), (n, n)),
    "max_unpool1d": lambda n: F.max_unpool1d(
        ones(1, 1, 2), genesis.tensor([[[0, 1]]]), 2, n, output_size=(n,)
    ),
    "unfold kernel": lambda n: F.unfold(ones(1, 1, 4, 4), n),
    "unfold dilation": lambda n: F.unfold(ones(1, 1, 4, 4), 2, dilation=n),
    "unfold padding": lambda n: F.unfold(ones(1, 1, 4, 4), 2, padding=n),
    "fold size": lambda n: F.fold(ones(1, 4, 1), n, 2),
    "fold padding": lambda n: F.fold(ones(1, 4, 1), 2, 2, padding=n),
    "interpolate": lambda n: F.interpolate(ones(1, 1, 4, 4), size=(n, n)),
    "interpolate scale": lambda n: F.interpolate(ones(1, 1, 4), scale_factor=float(n)),
    "interpolate bytes": lambda n: F.interpolate(
        ones(1, 1, 4, 4, dtype=genesis.uint8), size=(n, n), mode="bilinear"
    ),
    "pad": lambda n: F.pad(ones(4), (n, n)),
    "pad reflect": lambda n: F.pad(ones(1, 1, 4), (n, n), mode="reflect"),
    "pad circular": lambda n: F.pad(ones(1, 1, 4), (n, n), mode="circular"),
    "pixel_shuffle": lambda n: F.pixel_shuffle(ones(1, 4, 2, 2), n),
    "pixel_unshuffle": lambda n: F.pixel_unshuffle(ones(1, 4, 2, 2), n),
    "repeat": lambda n: ones(4).repeat(n, 4),
    "tile": lambda n: ones(4).tile((n, n)),
    "repeat_interleave": lambda n: ones(4).repeat_interleave(n),
    "tril_indices": lambda n: genesis.tril_indices(n, 4),
    "triu_indices": lambda n: genesis.triu_indices(4, n),
    "vander": lambda n: genesis.vander(ones(3), n),
    "mvlgamma": lambda n: genesis.mvlgamma(ones(2), n),
    "tensor_split": lambda n: genesis.tensor_split(ones(5), n),
    "chunk": lambda n: genesis.chunk(ones(0), n),
    "combinations": lambda n: genesis.combinations(ones(5), n, with_replacement=True),
    "eye": lambda n: genesis.eye(n),
    "arange": lambda n: genesis.arange(n),
    "linspace": lambda n: genesis.linspace(0, 1, n),
    "zeros": lambda n: genesis.zeros(n, 4),
    "one_hot": lambda n: F.one_hot(genesis.tensor([1]), n),
    "randperm": lambda n: genesis.randperm(n),
    "bartlett": lambda n: genesis.bincount(genesis.tensor([1]), minlength=n),
    "matrix_power": lambda n: genesis.linalg.matrix_power(genesis.eye(2), n),
}
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from tests.core.test_limits import CALLS, NEAR, TOO_LARGE
for number in NEAR:
    try:
        y = CALLS[sys.argv[1]](number)
    except TOO_LARGE as error:
        assert str(error) and "std::" not in str(error) and "max_size" not in str(error), error
        assert ":" in str(error), error
    else:
        for t in y if isinstance(y, tuple) else [y]:
            t.sum()
"""


needs_a_limit = pytest.mark.skipif(
    sys.platform != "linux" or bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ)),
    reason="the address space is not limited here, or a sanitizer maps most of it",
)


@needs_a_limit
@pytest.mark.parametrize("name", CALLS)
def test_numbers_near_the_limits_of_int64(name):
    # In a process of its own, with little memory: a crash or a hang must be seen as one.
    run = subprocess.run(
        [sys.executable, "-c", LIMITED, name], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.conv1d(ones(1, 1, 10), ones(1, 1, 3), stride=3, dilation=2**63 - 4),
        lambda: F.max_pool1d(ones(1, 1, 8), 3, dilation=2**63 - 1),
        lambda: F.unfold(ones(1, 1, 4, 4), 2, dilation=2**61 + 3),
        lambda: F.unfold(ones(1, 1, 4, 4), 2, padding=2**61 + 3),
        lambda: F.conv_transpose1d(ones(1, 1, 4), ones(1, 1, 3), stride=2**62),
        lambda: F.interpolate(ones(1, 1, 4, 4), size=(5, 2**40)),
        lambda: genesis.tril_indices(2**62, 4),
        lambda: genesis.mvlgamma(ones(2), 2**31),
        lambda: genesis.vander(ones(3), 2**62),
        lambda: genesis.combinations(ones(200), 20),
        lambda: genesis.tensor_split(ones(5), 2**40),
    ],
)
def test_what_cannot_exist_is_an_error(call):
    with pytest.raises(TOO_LARGE):
        call()


def test_strides_past_the_end_are_all_the_same():
    x, w = genesis.randn(2, 3, 10), genesis.randn(4, 3, 3)
    assert genesis.equal(F.conv1d(x, w, stride=2**62), F.conv1d(x, w, stride=8))
    assert genesis.equal(F.max_pool1d(x, 3, stride=2**62), F.max_pool1d(x, 3, stride=8))
    y = genesis.randn(2, 4, 1)
    assert F.conv_transpose1d(y, w, stride=2**62).shape == (2, 3, 3)
    long = F.conv_transpose1d(y, w, stride=7, output_padding=2)
    assert long.shape == (2, 3, 5) and genesis.equal(long[..., :3], F.conv_transpose1d(y, w))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_transposed_convolutions_whose_stride_exceeds_the_kernel(last, bias):
    torch = pytest.importorskip("torch")
    x, w, b = genesis.randn(2, 9, 3, 4), genesis.randn(9, 5, 2, 2), genesis.randn(5)
    if last:
        x = x.to(memory_format=genesis.channels_last)
    got = F.conv_transpose2d(x, w, b if bias else None, stride=(7, 3), dilation=2)
    tx, tw, tb = (torch.from_numpy(t.numpy()) for t in (x, w, b))
    wanted = torch.nn.functional.conv_transpose2d(
        tx, tw, tb if bias else None, stride=(7, 3), dilation=2
    )
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def test_maxima_of_windows_that_are_mostly_padding():
    torch = pytest.importorskip("torch")
    x = genesis.randn(1, 2, 9)
    for kernel, stride, padding, dilation in [(21, 1, 10, 1), (7, 4, 3, 2), (40, 3, 20, 1)]:
        got = F.max_pool1d(x, kernel, stride, padding, dilation, return_indices=True)
        wanted = torch.nn.functional.max_pool1d(
            torch.from_numpy(x.numpy()), kernel, stride, padding, dilation, return_indices=True
        )
        for mine, theirs in zip(got, wanted, strict=True):
            assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("pool", ["adaptive_avg_pool", "adaptive_max_pool"])
@pytest.mark.parametrize("channels", [2, 16])
@pytest.mark.parametrize("size", [(0, 3), (3, 0), (0, 0)])
def test_adaptive_pools_of_no_outputs_have_zero_gradients(pool, channels, size):
    x = ones(1, channels, 4, 3, requires_grad=True)
    for y in (x, x.to(memory_format=genesis.channels_last)):
        x.grad = None
        getattr(F, pool + "2d")(y, size).sum().backward()
        assert genesis.equal(x.grad, genesis.zeros(1, channels, 4, 3))
    x = ones(1, channels, 4, 3, 2, requires_grad=True)
    getattr(F, pool + "3d")(x, (*size, 2)).sum().backward()
    assert x.grad.abs().sum() == 0


@pytest.mark.parametrize("upper", [False, True])
def test_triangle_indices_count_what_they_list(upper):
    name = "triu_indices" if upper else "tril_indices"
    mine, numpys = getattr(genesis, name), getattr(np, name)
    for rows in range(5):
        for cols in range(5):
            for offset in range(-6, 7):
                wanted = np.stack(numpys(rows, offset, cols))
                assert mine(rows, cols, offset).tolist() == wanted.tolist(), (rows, cols, offset)


def test_combinations_are_those_of_itertools():
    import itertools

    for n in range(6):
        for r in range(1, 5):
            x = genesis.arange(n)
            for again, theirs in (
                (False, itertools.combinations),
                (True, itertools.combinations_with_replacement),
            ):
                got = genesis.combinations(x, r, again)
                assert got.shape[1] == r and got.tolist() == [list(c) for c in theirs(range(n), r)]


EXHAUSTED = """
import resource, genesis
x = genesis.ones(4, requires_grad=True)
resource.setrlimit(resource.RLIMIT_AS, (500 << 20, 500 << 20))
raised = 0
kept = []
for size in (1 << 20, 1 << 14, 1 << 8, 1):
    try:
        while True:
            y = x
            for _ in range(1000):
                y = y * genesis.ones(size, 4)
            kept.append(y)
    except MemoryError:
        raised += 1
del y
kept.clear()
import gc
gc.collect()
(x * 2).sum().backward()
assert raised == 4 and x.grad.tolist() == [2.0] * 4
print("fine")
"""


@needs_a_limit
def test_memory_that_runs_out_is_a_memory_error():
    run = subprocess.run([sys.executable, "-c", EXHAUSTED], capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout == "fine\n", (run.returncode, run.stderr[-2000:])


@needs_a_limit
def test_an_in_place_operation_that_runs_out_of_memory():
    code = (
        "import resource, genesis\n"
        "x = genesis.full((1000,), 1e6)\n"
        "with open('/proc/self/statm') as file:  # a free-threaded Python reserves a gigabyte\n"
        "    limit = int(file.read().split()[0]) * resource.getpagesize() + (400 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "for order in (2**31, 2**62, 2**24):\n"
        "    y = genesis.full((200_000,), 1e7)\n"
        "    try:\n"
        "        y.requires_grad_().clone().mvlgamma_(order)\n"
        "    except (MemoryError, ValueError) as error:\n"
        "        print(type(error).__name__)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert run.stdout.split() == ["ShapeError", "ShapeError", "MemoryError"], run.stderr[-2000:]
