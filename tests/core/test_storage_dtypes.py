"""Dtypes that tensors can hold, copy and convert, but not compute with."""

import genesis
import numpy as np
import pytest

UNSIGNED = [genesis.uint16, genesis.uint32, genesis.uint64]
FLOAT8 = {genesis.float8_e4m3fn: (3, 7), genesis.float8_e5m2: (2, 15)}


def value(code, mantissa, bias):
    """The number that eight bits stand for; NaN and infinities are left to the caller."""
    exponent, fraction = (code & 0x7F) >> mantissa, code & ((1 << mantissa) - 1)
    size = fraction / 2**mantissa * 2.0 ** (1 - bias)
    if exponent:
        size = (1 + fraction / 2**mantissa) * 2.0 ** (exponent - bias)
    return -size if code & 0x80 else size


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_every_float8_is_read_and_written_back(dtype):
    codes = np.arange(256, dtype=np.uint8)
    read = genesis.tensor(codes).view(dtype).float()
    finite = np.isfinite(read.numpy())
    wanted = [value(int(c), *FLOAT8[dtype]) for c in codes[finite]]
    assert finite.sum() == (254 if dtype == genesis.float8_e4m3fn else 248)
    assert read.numpy()[finite].tolist() == wanted
    back = read.to(dtype).view(genesis.uint8).numpy()
    assert back[finite].tolist() == codes[finite].tolist()


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_float8_rounds_to_nearest_and_ties_to_even(dtype):
    mantissa, bias = FLOAT8[dtype]
    codes = range(0, 0x70)
    numbers = np.array([value(c, mantissa, bias) for c in codes])
    middle = (numbers[:-1] + numbers[1:]) / 2
    even = [c if c % 2 == 0 else c + 1 for c in codes[:-1]]
    assert genesis.tensor(middle).to(dtype).view(genesis.uint8).tolist() == even
    above = np.nextafter(middle.astype(np.float32), np.float32(np.inf))
    assert genesis.tensor(above).to(dtype).view(genesis.uint8).tolist() == list(codes[1:])


def test_float8_beyond_the_largest_number():
    x = genesis.tensor([449.0, 1e6, float("inf"), -1e6, float("nan")])
    assert str(x.to(genesis.float8_e4m3fn).float().tolist()) == "[448.0, 448.0, 448.0, -448.0, nan]"
    x = genesis.tensor([57344.0, 61440.0, float("inf"), -1e6, float("nan")])
    assert str(x.to(genesis.float8_e5m2).float().tolist()) == "[57344.0, inf, inf, -inf, nan]"


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_float8_as_pytorch_converts_it(dtype):
    torch = pytest.importorskip("torch")
    normal = np.random.default_rng(0).standard_normal(4000)
    numbers = (normal * 10.0 ** np.linspace(-6, 7, 4000)).astype(np.float32)
    name = str(dtype).split(".")[-1]
    theirs = torch.from_numpy(numbers).to(getattr(torch, name)).view(torch.uint8)
    assert genesis.tensor(numbers).to(dtype).view(genesis.uint8).tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
def test_unsigned_integers_hold_their_whole_range(dtype):
    info = genesis.iinfo(dtype)
    array = np.array([0, 1, info.max - 1, info.max], dtype=str(dtype).split(".")[-1])
    x = genesis.from_numpy(array)
    assert x.dtype == dtype and x.tolist() == array.tolist()
    assert x.clone()[1:].flip(0).tolist() == array[:0:-1].tolist()
    assert genesis.stack([x, x]).shape == (2, 4)
    assert x.to(genesis.float64).tolist() == array.astype(np.float64).tolist()


@pytest.mark.parametrize("dtype", [*UNSIGNED, *FLOAT8], ids=str)
def test_arithmetic_says_that_it_is_not_there(dtype):
    x = genesis.zeros(2, dtype=dtype)
    with pytest.raises(TypeError, match=str(dtype).split(".")[-1]):
        genesis.sin(x)
