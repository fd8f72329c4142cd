"""Reductions and scans beyond the table: long inputs, every path through memory, special values."""

import genesis
import numpy as np
import pytest
from genesis.autograd import grad

from tests.ops.op import tensor, to_numpy

inf, nan = np.inf, np.nan

# Shapes and dims that take each path: rows, columns, folded columns, chunks, gathered, strided.
SHAPES = [
    ((100_003,), None),
    ((3, 70_001), 1),
    ((3, 70_001), 0),
    ((70_001, 3), 0),
    ((70_001, 3), 1),
    ((1025, 600), 0),
    ((1025, 600), 1),
    ((5, 1025, 33), 1),
    ((5, 1025, 33), (0, 2)),
    ((5, 1025, 33), (0, 1)),
    ((6, 4, 5, 7, 9), (1, 3)),
    ((6, 4, 5, 7, 9), (0, 2, 4)),
    ((300, 2, 300), 1),
]
LAYOUTS = {
    "contiguous": lambda t: t,
    "strided": lambda t: t[..., ::2],
    "offset": lambda t: t[..., 1:],
    "transposed": lambda t: t.transpose(0, -1),
}
REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
    "prod": np.prod,
    "any": np.any,
    "all": np.all,
    "count_nonzero": np.count_nonzero,
    "var": lambda x, axis: np.var(x, axis=axis, ddof=1),
    "norm": lambda x, axis: np.sqrt(np.sum(x * x, axis=axis)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
def test_every_path_through_memory(name, layout, dtype, rng):
    if dtype == "int32" and name in ("mean", "var", "norm"):
        pytest.skip("floating only")
    for shape, dim in SHAPES:
        low, high = (0.999, 1.001) if name == "prod" else (-1, 2)
        values = rng.uniform(low, high, shape)
        if dtype == "int32":
            values = np.rint(values * 1.2)
        t = tensor(values.astype(np.float32), dtype)
        view = LAYOUTS[layout](t)
        array = (
            LAYOUTS[layout](to_numpy(t).astype(np.float64))
            if layout != "transposed"
            else np.swapaxes(to_numpy(t).astype(np.float64), 0, -1)
        )
        kwargs = {} if dim is None else {"dim": dim}
        out = (
            genesis.norm(view, 2, dim) if name == "norm" else getattr(genesis, name)(view, **kwargs)
        )
        wanted = REDUCTIONS[name](array, axis=dim)
        rtol = {"float64": 1e-11, "bfloat16": 1e-2}.get(dtype, 2e-5 if name == "prod" else 2e-6)
        atol = 1e-2 if name in ("sum", "mean") and dtype == "bfloat16" else rtol * 10
        if dtype == "int32" and name == "prod":
            continue  # NumPy's product is float here
        np.testing.assert_allclose(
            to_numpy(out), wanted, rtol=rtol, atol=atol, err_msg=f"{shape} {dim}"
        )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_indices_of_extremes_on_every_path(layout, dtype, rng):
    for shape, dim in SHAPES:
        if isinstance(dim, tuple):
            continue
        t = tensor(np.rint(rng.uniform(-60, 60, shape)).astype(np.float32), dtype)  # with ties
        view = LAYOUTS[layout](t)
        array = np.ascontiguousarray(to_numpy(view))
        np.testing.assert_array_equal(to_numpy(view.argmax(dim)), np.argmax(array, dim))
        np.testing.assert_array_equal(to_numpy(view.argmin(dim)), np.argmin(array, dim))
        if dim is not None:
            np.testing.assert_array_equal(to_numpy(view.max(dim).values), array.max(dim))
            np.testing.assert_array_equal(to_numpy(view.min(dim).values), array.min(dim))


SCANS = {"cumsum": np.cumsum, "cumprod": np.cumprod}


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_scans_on_every_path(name, layout, dtype, rng):
    for shape, dim in [
        ((100_003,), 0),
        ((3, 1030), 1),
        ((1030, 300), 0),
        ((4, 50, 6), 1),
        ((40, 10, 30), 2),
        ((2, 70_000), 1),
    ]:
        low, high = (0.999, 1.001) if name == "cumprod" else (-1, 1)
        values = rng.uniform(low, high, shape)
        if dtype == "int32":
            values = np.rint(values * 3) if name == "cumsum" else np.where(values > 1, 1, -1)
        view = LAYOUTS[layout](tensor(values.astype(np.float32), dtype))
        array = to_numpy(view).astype(np.float64)
        out = getattr(view, name)(dim)
        tol = {"float64": 1e-10, "float16": 2e-3, "int32": 0}.get(dtype, 1e-5)
        np.testing.assert_allclose(
            to_numpy(out),
            SCANS[name](array, axis=dim),
            rtol=tol,
            atol=10 * tol,
            err_msg=f"{shape} {dim}",
        )


def test_products_keep_the_sign_of_zero():
    x = genesis.ones(3000)
    x[5] = -0.0
    assert x.cumprod(0)[5:].signbit().all()


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_softmax_on_every_path(dim, layout, dtype, rng):
    view = LAYOUTS[layout](tensor(rng.normal(size=(20, 70, 130)), dtype))
    x = to_numpy(view).astype(np.float64)
    e = np.exp(x - x.max(dim, keepdims=True))
    wanted = e / e.sum(dim, keepdims=True)
    rtol = {"float64": 1e-12, "float16": 2e-3}.get(dtype, 1e-6)
    np.testing.assert_allclose(to_numpy(view.softmax(dim)), wanted, rtol=rtol, atol=rtol / 10)
    np.testing.assert_allclose(
        to_numpy(view.log_softmax(dim)), np.log(wanted), rtol=rtol, atol=rtol
    )
    wanted = np.log(np.exp(x).sum(dim))
    np.testing.assert_allclose(to_numpy(view.logsumexp(dim)), wanted, rtol=rtol, atol=rtol)


def test_results_do_not_depend_on_the_number_of_threads(rng, num_threads):
    x = tensor(rng.normal(size=(1200, 700)).astype(np.float32))
    long = x.reshape(-1)
    work = [
        lambda: long.sum(), lambda: x.sum(0), lambda: x.sum(1), lambda: x.T.sum(0), lambda: long.var(),
        lambda: x.var(0), lambda: x.logsumexp((0, 1)), lambda: long.prod(), lambda: long.cumsum(0),
        lambda: x.cumsum(0), lambda: long.norm(), lambda: x.softmax(0), lambda: x[:, :3].sum(0),
        lambda: long.half().sum(), lambda: x[::2, ::3].mean(), lambda: long.argmax(),
    ]  # fmt: skip
    results = []
    for threads in (1, 2, 7):
        genesis.set_num_threads(threads)
        results.append([to_numpy(f()).tobytes() for f in work])
    assert results[0] == results[1] == results[2]


def test_sum_of_float32_is_nearly_exact(rng):
    x = rng.uniform(0, 1, 4_000_000).astype(np.float32)
    exact = x.astype(np.float64).sum()
    assert abs(tensor(x).sum().item() - exact) / exact < 1e-7
    columns = x.reshape(-1, 8)
    np.testing.assert_allclose(
        to_numpy(tensor(columns).sum(0)), columns.astype(np.float64).sum(0), rtol=1.2e-7
    )
    shifted = tensor((x + 1000).astype(np.float32))
    np.testing.assert_allclose(
        shifted.var().item(), (x + np.float32(1000)).astype(np.float64).var(ddof=1), rtol=1e-5
    )


@pytest.mark.parametrize("size", [3, 40, 5000, 100_000])
def test_nan_wins_and_its_first_index_is_found(size, rng):
    x = rng.normal(size=size).astype(np.float32)
    x[size // 2] = nan
    x[size - 1] = nan
    t = tensor(x)
    for name in ("max", "min", "amax", "amin"):
        assert np.isnan(getattr(t, name)().item())
    assert t.argmax().item() == t.argmin().item() == size // 2
    columns = tensor(np.stack([x] * 9, 1))
    assert to_numpy(columns.argmax(0)).tolist() == [size // 2] * 9
    assert np.isnan(to_numpy(columns.amin(0))).all()
    assert np.isnan(t.median().item()) and not np.isnan(t.nanmedian().item())
    assert np.isnan(t.norm(inf).item())
    assert t.has_nan() is True and t.has_inf() is False


def test_infinite_values():
    assert tensor(np.array([1.0, inf])).sum().item() == inf
    assert np.isnan(tensor(np.array([inf, -inf])).sum().item())
    assert tensor(np.array([-inf, -inf])).max().item() == -inf
    assert tensor(np.array([-inf, -inf])).argmax().item() == 0
    assert tensor(np.array([-inf, -inf])).logsumexp(0).item() == -inf
    assert tensor(np.array([3.0, inf])).logsumexp(0).item() == inf
    assert np.isnan(tensor(np.array([3.0, nan])).logsumexp(0).item())
    np.testing.assert_array_equal(to_numpy(tensor(np.array([-inf, 0.0])).softmax(0)), [0, 1])
    assert np.isnan(to_numpy(tensor(np.array([-inf, -inf])).softmax(0))).all()


def test_reductions_of_nothing():
    empty = tensor(np.zeros((0, 2)))
    assert empty.sum().item() == 0 and empty.prod().item() == 1
    assert np.isnan(empty.mean().item())
    assert not empty.any().item() and empty.all().item()
    assert empty.logsumexp((0, 1)).item() == -inf
    assert np.isnan(empty.var().item()) and np.isnan(empty.median().item())
    assert to_numpy(empty.sum(0)).tolist() == [0, 0]


def gradient(f, values):
    x = tensor(np.asarray(values, np.float64), requires_grad=True)
    return to_numpy(grad(f(x).sum(), x)[0])


def test_gradient_is_shared_among_ties():
    x = [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]
    assert gradient(lambda t: t.max(), x).tolist() == [[0, 0.5, 0.5], [0, 0, 0]]
    third = 1 / 3
    assert gradient(lambda t: t.amax(1), x).tolist() == [[0, 0.5, 0.5], [third] * 3]
    assert gradient(lambda t: t.amin(1), x).tolist() == [[1, 0, 0], [third] * 3]
    assert gradient(lambda t: t.max(1).values, x).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert gradient(lambda t: t.max(), [1.0, nan, nan]).tolist() == [0, 0.5, 0.5]
    assert gradient(lambda t: t.norm(inf), [-2.0, 2.0, 1.0]).tolist() == [-0.5, 0.5, 0]


def test_gradient_where_there_is_none_is_zero():
    for p in (1, 2, 3, 1.5, inf):
        assert gradient(lambda t, p=p: t.norm(p), [0.0, 0.0]).tolist() == [0, 0]
    assert gradient(lambda t: t.std(), [2.0, 2.0, 2.0]).tolist() == [0, 0, 0]
    assert gradient(lambda t: t.logsumexp(0), [-inf, -inf]).tolist() == [0, 0]
    assert gradient(lambda t: t.logcumsumexp(0), [-inf, -inf]).tolist() == [0, 0]
    assert gradient(lambda t: t.logcumsumexp(0), [-inf, 0.0]).tolist() == [0, 1]
    assert gradient(lambda t: t.nansum(), [1.0, nan]).tolist() == [1, 0]
    assert gradient(lambda t: t.nanmean(), [1.0, nan, 2.0]).tolist() == [0.5, 0, 0.5]


def test_gradient_of_logcumsumexp_does_not_overflow():
    x = np.array([-1000.0, 0.0, 1000.0, 999.0])
    g = gradient(lambda t: t.logcumsumexp(0), x)
    assert np.isfinite(g).all() and abs(g.sum() - 4) < 1e-12


def test_dtype_argument():
    x = tensor(np.array([[1, 2], [3, 4]], np.int32))
    assert x.sum().dtype == genesis.int64 and x.prod().dtype == genesis.int64
    assert x.mean(dtype=genesis.float64).item() == 2.5
    assert x.sum(0, dtype=genesis.float32).dtype == genesis.float32
    assert x.cumsum(1, dtype=genesis.int32).dtype == genesis.int32
    assert x.float().softmax(0, dtype=genesis.float64).dtype == genesis.float64
    f = tensor(np.ones(3, np.float32), requires_grad=True)
    f.sum(dtype=genesis.float64).backward()
    assert f.grad.dtype == genesis.float32


def test_named_results():
    x = tensor(np.array([[1.0, 5.0], [7.0, 2.0]]))
    assert to_numpy(x.max(dim=1).indices).tolist() == [1, 0]
    values, indices = genesis.min(x, 0, keepdim=True)
    assert values.shape == indices.shape == (1, 2)
    assert isinstance(x.max(axis=1), genesis.Tensor)
    assert x.aminmax().max.item() == 7
    assert to_numpy(x.var_mean(0).mean).tolist() == [4, 3.5]


def test_a_scan_in_place():
    x = tensor(np.arange(6.0).reshape(2, 3))
    x.cumsum_(1)
    assert to_numpy(x).tolist() == [[0, 1, 3], [3, 7, 12]]
    x[:, 1:].cumprod_(0)
    assert to_numpy(x).tolist() == [[0, 1, 3], [3, 7, 36]]


def test_no_lines_to_go_along():
    empty = tensor(np.zeros((0, 3)))
    for dim in (0, 1):
        assert empty.cummax(dim).values.shape == (0, 3)
        assert empty.cummin(dim).indices.shape == (0, 3)
    assert empty.var(1).shape == empty.std(1).shape == (0,)
