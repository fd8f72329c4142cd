"""LU, least squares, ranks where matrices are singular; numbers by their bits; resize_."""

import genesis
import numpy as np
import pytest
from genesis import linalg


def test_lu_of_a_singular_matrix():
    a = genesis.tensor([[1.0, 2.0], [2.0, 4.0]])
    p, lower, upper = linalg.lu(a)
    assert (p @ lower @ upper).equal(a) and upper[1, 1] == 0
    both = genesis.stack([genesis.eye(2), a])
    with pytest.raises(linalg.LinAlgError, match=r"matrix 1 of the batch is singular: U\[1, 1\]"):
        linalg.lu_factor(both)
    assert linalg.lu_factor_ex(both).info.tolist() == [0, 2]
    with pytest.raises(linalg.LinAlgError, match="lu_factor_ex: matrix 1"):
        linalg.lu_factor_ex(both, check_errors=True)


def test_lu_refusals():
    with pytest.raises(ValueError, match="linalg.lu: A must have at least 2 dimensions"):
        linalg.lu(genesis.ones(2))
    with pytest.raises(TypeError, match="linalg.lu_factor: A must be float32, float64 or complex"):
        linalg.lu_factor(genesis.ones(2, 2, dtype=genesis.int64))


def test_factors_solve_and_unpack():
    a = genesis.from_numpy(np.random.default_rng(1).normal(size=(4, 5, 5)))
    b = genesis.from_numpy(np.random.default_rng(2).normal(size=(5, 2)))
    lu, pivots = linalg.lu_factor(a)
    assert pivots.dtype == genesis.int32
    genesis.testing.assert_close(linalg.lu_solve(lu, pivots, b), linalg.solve(a, b.expand(4, 5, 2)))
    p, lower, upper = genesis.lu_unpack(lu, pivots)
    genesis.testing.assert_close(p @ lower @ upper, a)
    nothing = genesis.lu_unpack(lu, pivots, unpack_data=False)
    assert nothing.P.equal(p) and nothing.L.numel() == nothing.U.numel() == 0
    nothing = genesis.lu_unpack(lu, pivots, unpack_pivots=False)
    assert nothing.P.numel() == 0 and nothing.L.equal(lower) and nothing.U.equal(upper)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_what_comes_with_least_squares(driver):
    a = np.random.default_rng(3).normal(size=(2, 4, 2))
    b = np.random.default_rng(4).normal(size=(2, 4, 3))
    y = linalg.lstsq(genesis.from_numpy(a), genesis.from_numpy(b), driver=driver)
    expected = [np.linalg.lstsq(a[i], b[i], rcond=None) for i in range(2)]
    np.testing.assert_allclose(y.solution.numpy(), [e[0] for e in expected], rtol=1e-9)
    if driver == "gelsy":
        assert y.residuals.shape == (0,)
    else:
        np.testing.assert_allclose(y.residuals.numpy(), [e[1] for e in expected], rtol=1e-9)
    assert y.rank.tolist() == ([] if driver == "gels" else [2, 2])
    if driver in ("gelsd", "gelss"):
        np.testing.assert_allclose(y.singular_values.numpy(), [e[3] for e in expected], rtol=1e-9)
    else:
        assert y.singular_values.shape == (0,)


def test_least_squares_of_too_low_a_rank():
    a, b = genesis.ones(4, 2, dtype=genesis.float64), genesis.arange(4.0).double().unsqueeze(-1)
    y = linalg.lstsq(a, b, driver="gelsd")
    assert y.rank == 1 and y.residuals.numel() == 0
    genesis.testing.assert_close(y.solution, genesis.full((2, 1), 0.75, dtype=genesis.float64))
    a = genesis.tensor([[1.0, 0.0], [0.0, 1e-3]])
    y = linalg.lstsq(a, genesis.ones(2, 1), rcond=1e-2)
    assert y.rank == 1 and y.solution.tolist() == [[1.0], [0.0]]


def test_ranks_and_tolerances():
    a = genesis.diag(genesis.tensor([1.0, 0.5, 0.1]))
    assert linalg.matrix_rank(a) == 3
    assert linalg.matrix_rank(a, 0.2) == linalg.matrix_rank(a, atol=0.2) == 2
    assert linalg.matrix_rank(2 * a, rtol=0.2) == 2
    assert linalg.matrix_rank(-a, rtol=0.6, hermitian=True) == 1
    both = a.expand(2, 3, 3)
    atol = genesis.tensor([0.2, 2.0])
    assert linalg.matrix_rank(both, atol=atol).tolist() == [2, 0]
    assert linalg.pinv(both, atol=atol)[1].abs().sum() == 0
    inverse = genesis.tensor([1.0, 2.0, 0.0])
    assert linalg.pinv(a, 0.2).diagonal().equal(inverse)
    genesis.testing.assert_close(linalg.pinv(-a, 0.2, True).diagonal(), -inverse)
    with pytest.raises(ValueError, match="linalg.pinv: A must be square"):
        linalg.pinv(genesis.ones(2, 3), hermitian=True)
    assert linalg.pinv(genesis.eye(2, requires_grad=True), hermitian=True).requires_grad


@pytest.mark.parametrize("p", ["fro", 1, -1, float("inf"), float("-inf")])
def test_the_condition_of_a_singular_matrix_is_infinite(p):
    a = genesis.stack([genesis.eye(2), genesis.tensor([[1.0, 2.0], [2.0, 4.0]])])
    assert linalg.cond(a, p).isinf().tolist() == [False, True]
    assert linalg.cond(genesis.zeros(3, 0, 0), p).tolist() == [0.0] * 3


def test_a_distance_to_itself_has_no_gradient():
    x = genesis.tensor(np.random.default_rng(5).normal(size=(30, 3)), requires_grad=True)
    distances = genesis.cdist(x, x.detach())
    distances.diagonal().sum().backward()
    assert not x.grad.isnan().any()
    exact = genesis.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")
    assert (exact.diagonal() == 0).all()
    genesis.testing.assert_close(distances, exact, rtol=0, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_at_the_borders(dtype):
    info = np.finfo(dtype)
    tiny = info.smallest_subnormal
    x = np.array([0, 0, np.inf, info.max, tiny, -tiny, -info.max, 1, -0.0], dtype)
    y = np.array([1, -1, 0, np.inf, 0, 0, -np.inf, 1, 0], dtype)
    ours = genesis.nextafter(genesis.tensor(x, dtype=dtype), genesis.tensor(y, dtype=dtype)).numpy()
    with np.errstate(over="ignore"):
        expected = np.nextafter(x, y)
    np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(np.signbit(ours), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nextafter_of_halves(dtype):
    one = genesis.ones(2, dtype=dtype)
    ends = genesis.tensor([0.0, 2.0], dtype=dtype)
    eps = genesis.finfo(one.dtype).eps
    assert genesis.nextafter(one, ends).tolist() == [1 - eps / 2, 1 + eps]


def test_frexp_exponents():
    x = np.array([0, 1, -3, np.inf, np.nan, 1e-40, 300.5], np.float32)
    mantissa, exponent = genesis.frexp(genesis.tensor(x))
    assert exponent.dtype == genesis.int32
    expected = np.frexp(x)
    np.testing.assert_array_equal(mantissa.numpy(), expected[0])
    finite = np.isfinite(x)
    np.testing.assert_array_equal(exponent.numpy()[finite], expected[1][finite])
    halves = genesis.frexp(genesis.tensor([1.0, 6e-8], dtype=genesis.float16))
    assert halves.mantissa.tolist() == [0.5, 0.5] and halves.exponent.tolist() == [1, -23]


def test_polygamma_is_a_method_too():
    x = genesis.tensor([1.5, 2.5])
    assert x.polygamma(2).equal(genesis.polygamma(2, x))


# ----- resize_


def test_resize_keeps_what_there_is():
    x = genesis.arange(6.0)
    assert x.resize_(2, 2) is x and x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_(6).tolist() == list(range(6))  # the memory was kept
    version = x._version
    x.resize_((4, 4))
    assert x.shape == (4, 4) and x._version > version
    assert x.reshape(-1)[:6].tolist() == list(range(6))
    x.fill_(1)
    assert x.sum() == 16
    turned = genesis.arange(6.0).reshape(2, 3).t()
    assert turned.resize_(3, 2).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]  # nothing to do


def test_resize_of_shared_memory():
    x = genesis.arange(6.0)
    part = x[2:]
    assert part.resize_(2).tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="resize_: growing .* share this; use clone"):
        x.resize_(7)
    borrowed = genesis.from_numpy(np.ones(3, np.float32))
    with pytest.raises(ValueError, match="another library's"):
        borrowed.resize_(4)
    assert x.shape == (6,) and borrowed.shape == (3,)


def test_resize_refusals_and_formats():
    with pytest.raises(RuntimeError, match="requires grad cannot be resized"):
        genesis.ones(3, requires_grad=True).resize_(2)
    x = genesis.ones(2, 3, 4, 5).resize_(1, 2, 3, 4, memory_format=genesis.channels_last)
    assert tuple(x.stride) == (24, 1, 8, 2)
    with pytest.raises(ValueError, match="must not be preserve_format"):
        x.resize_(2, memory_format=genesis.preserve_format)
    assert genesis.resize_as_(genesis.ones(2, 2), x[0, 0]).shape == (3, 4)
