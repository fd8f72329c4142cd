"""make_tensor keeps to its range, and to its seed."""

import genesis
import pytest
from genesis.testing import make_tensor

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_range_and_layout(dtype):
    dtype = getattr(genesis, dtype)
    genesis.manual_seed(0)
    x = make_tensor(20, 30, dtype=dtype)
    low, high = {"bool": (0, 1), "uint8": (0, 9)}.get(str(dtype).rpartition(".")[2], (-9, 9))
    assert x.shape == (20, 30)
    assert x.dtype == dtype
    assert x.double().min() >= low
    assert x.double().max() <= high
    assert x.double().min() < low + 1 or dtype == genesis.bool
    genesis.manual_seed(0)
    assert genesis.equal(x, make_tensor((20, 30), dtype=dtype))
    y = make_tensor(4, 5, dtype=dtype, noncontiguous=True, exclude_zero=True)
    assert y.shape == (4, 5)
    assert not y.is_contiguous()
    assert (y != 0).all()


def test_bounds_and_grad():
    x = make_tensor(1000, dtype=genesis.int64, low=2, high=4)
    assert set(x.tolist()) == {2, 3}
    x = make_tensor(1000, dtype=genesis.float32, low=2, high=4, requires_grad=True)
    assert x.requires_grad
    assert x.is_leaf
    assert 2 <= x.min() < x.max() < 4
    assert make_tensor(dtype=genesis.float32, noncontiguous=True).shape == ()
    assert make_tensor(2, 0, dtype=genesis.float32, noncontiguous=True).shape == (2, 0)


def test_errors():
    with pytest.raises(ValueError, match="low"):
        make_tensor(2, dtype=genesis.float32, low=2, high=2)
    with pytest.raises(ValueError, match="floating"):
        make_tensor(2, dtype=genesis.int64, requires_grad=True)
    with pytest.raises(TypeError, match="shape"):
        make_tensor((2,), 3, dtype=genesis.float32)
