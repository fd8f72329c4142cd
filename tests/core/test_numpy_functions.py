"""NumPy's functions of tensors: the same values, as tensors, with gradients."""

import genesis
import numpy as np
import pytest

A = np.array([[0.3, -1.2, 2.0], [0.5, 0.9, -0.4]])
B = np.array([[1.5, 2.0, 0.5], [1.0, 3.0, 2.0]])
UNIT = np.clip(A / 3, -0.9, 0.9)


def t(x):
    return genesis.tensor(x, dtype=genesis.float64)


UNARY = [
    *((name, A) for name in ["absolute", "fabs", "negative", "positive", "sign", "exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan", "arcsinh", "square", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit", "cbrt", "deg2rad", "rad2deg", "degrees", "radians"]),
    *((name, B) for name in ["log", "log2", "log10", "log1p", "sqrt", "reciprocal"]),
    *((name, UNIT) for name in ["arcsin", "arccos", "arctanh"]),
    ("arccosh", B + 1),
    ("logical_not", A > 0),
    ("invert", np.array([1, 2])),
]  # fmt: skip


@pytest.mark.parametrize("name, x", UNARY)
def test_unary_ufuncs(name, x):
    f = getattr(np, name)
    y = f(genesis.tensor(x) if x.dtype != float else t(x))
    assert isinstance(y, genesis.Tensor)
    np.testing.assert_allclose(y.numpy(), f(x), rtol=1e-12)
    assert y.dtype == genesis.as_tensor(f(x)).dtype


BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "true_divide",
    "power",
    "floor_divide",
    "remainder",
    "mod",
    "fmod",
    "arctan2",
    "hypot",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "copysign",
    "logaddexp",
    "logaddexp2",
    "heaviside",
]


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufuncs(name):
    f, x = getattr(np, name), np.abs(A) + 0.1
    for a, b in (
        (t(x), t(B)),
        (x, t(B)),
        (t(x), B),
        (2.5, t(B)),
        (t(x), 2.5),
        (np.float64(2.5), t(B)),
    ):
        expected = f(*(v.numpy() if isinstance(v, genesis.Tensor) else v for v in (a, b)))
        y = f(a, b)
        assert isinstance(y, genesis.Tensor)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12)


def test_operators_with_arrays_on_the_left():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    for y in (np.ones(2) * x, np.float32(3) + x, np.array([2.0, 3.0]) - x, np.ones(2) @ x.double()):
        assert isinstance(y, genesis.Tensor) and y.requires_grad
    assert (np.float64(2.0) * x).dtype == genesis.float32  # a scalar is weak
    assert (np.ones((2, 2)) @ np.eye(2) @ x.double()).tolist() == [3, 3]
    assert (np.array([1.0, 3.0]) < x.detach()).tolist() == [False, False]
    assert (np.array([1.0, 2.0]) == x.detach()).tolist() == [True, True]
    a = np.ones(2)
    a += genesis.tensor([1.0, 2.0])
    assert isinstance(a, np.ndarray) and a.tolist() == [2, 3]
    with pytest.raises(TypeError, match="cannot be stored in an array"):
        a += x
    assert a.tolist() == [2, 3]


def test_gradients_pass_through():
    x = genesis.tensor([0.5, 1.0], requires_grad=True)
    y = np.sum(np.sin(x) * np.array([1.0, 2.0], dtype=np.float32))
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 1.0]) * [1, 2], rtol=1e-6)
    z = np.concatenate([x, np.zeros(1, np.float32), np.exp(x)])
    assert z.requires_grad and z.shape == (5,)


def test_methods_of_ufuncs():
    x = t(A)
    for f in (np.add, np.multiply, np.maximum, np.minimum):
        np.testing.assert_allclose(f.reduce(x, axis=1).numpy(), f.reduce(A, axis=1))
        np.testing.assert_allclose(f.reduce(x).numpy(), f.reduce(A))
        np.testing.assert_allclose(f.reduce(x, axis=None).numpy(), f.reduce(A, axis=None))
        np.testing.assert_allclose(f.outer(x, t(B)).numpy(), f.outer(A, B))
    np.testing.assert_allclose(np.add.accumulate(x, axis=1).numpy(), A.cumsum(1))
    out = genesis.zeros(2, 3, dtype=genesis.float64)
    assert np.exp(x, out=out) is out and np.allclose(out.numpy(), np.exp(A))
    assert np.exp(x, dtype=np.float32).dtype == genesis.float32
    with pytest.raises(TypeError, match="where cannot be given"):
        np.exp(x, where=A > 0)


FUNCTIONS = [
    ("sum", lambda n, x: n.sum(x, axis=1, keepdims=True)),
    ("mean", lambda n, x: n.mean(x, axis=0)),
    ("prod", lambda n, x: n.prod(x)),
    ("max", lambda n, x: n.max(x, axis=1)),
    ("amin", lambda n, x: n.amin(x)),
    ("std", lambda n, x: n.std(x, axis=1)),
    ("var", lambda n, x: n.var(x, ddof=1)),
    ("any", lambda n, x: n.any(x > 1, axis=0)),
    ("all", lambda n, x: n.all(x > 1)),
    ("argmax", lambda n, x: n.argmax(x, axis=1)),
    ("argmin", lambda n, x: n.argmin(x)),
    ("cumsum", lambda n, x: n.cumsum(x)),
    ("cumprod", lambda n, x: n.cumprod(x, axis=1)),
    ("sort", lambda n, x: n.sort(x, axis=0)),
    ("argsort", lambda n, x: n.argsort(x)),
    ("median", lambda n, x: n.median(x, axis=0)),
    ("quantile", lambda n, x: n.quantile(x, 0.3, axis=1)),
    ("concatenate", lambda n, x: n.concatenate([x, x], axis=1)),
    ("concatenate_flat", lambda n, x: n.concatenate([x, x], axis=None)),
    ("stack", lambda n, x: n.stack([x, x], axis=2)),
    ("vstack", lambda n, x: n.vstack([x, x])),
    ("hstack", lambda n, x: n.hstack([x, x])),
    ("dstack", lambda n, x: n.dstack([x, x])),
    ("column_stack", lambda n, x: n.column_stack([x[0], x[1]])),
    ("where", lambda n, x: n.where(x > 0, x, 0.0)),
    ("clip", lambda n, x: n.clip(x, -0.5, 1.0)),
    ("dot", lambda n, x: n.dot(x, x.T)),
    ("inner", lambda n, x: n.inner(x, x)),
    ("outer", lambda n, x: n.outer(x[0], x[1])),
    ("tensordot", lambda n, x: n.tensordot(x, x.T, 1)),
    ("einsum", lambda n, x: n.einsum("ij,ij->i", x, x)),
    ("kron", lambda n, x: n.kron(x, x)),
    ("trace", lambda n, x: n.trace(x)),
    ("diag", lambda n, x: n.diag(x)),
    ("diagonal", lambda n, x: n.diagonal(x)),
    ("tril", lambda n, x: n.tril(x)),
    ("triu", lambda n, x: n.triu(x, 1)),
    ("transpose", lambda n, x: n.transpose(x)),
    ("transpose_axes", lambda n, x: n.transpose(x, (1, 0))),
    ("swapaxes", lambda n, x: n.swapaxes(x, 0, 1)),
    ("moveaxis", lambda n, x: n.moveaxis(x, 0, 1)),
    ("reshape", lambda n, x: n.reshape(x, (3, 2))),
    ("ravel", lambda n, x: n.ravel(x)),
    ("squeeze", lambda n, x: n.squeeze(n.expand_dims(x, 1), axis=1)),
    ("broadcast_to", lambda n, x: n.broadcast_to(x, (2, 2, 3))),
    ("repeat", lambda n, x: n.repeat(x, 2, axis=1)),
    ("tile", lambda n, x: n.tile(x, (2, 1))),
    ("flip", lambda n, x: n.flip(x, (0,))),
    ("flipud", lambda n, x: n.flipud(x)),
    ("roll", lambda n, x: n.roll(x, 1)),
    ("take", lambda n, x: n.take(x, [[0, 2], [1, 1]], axis=1)),
    ("take_flat", lambda n, x: n.take(x, [0, 5])),
    ("take_along_axis", lambda n, x: n.take_along_axis(x, n.argsort(x, axis=1), axis=1)),
    ("diff", lambda n, x: n.diff(x)),
    ("round", lambda n, x: n.round(x, 1)),
    ("zeros_like", lambda n, x: n.zeros_like(x)),
    ("full_like", lambda n, x: n.full_like(x, 3.0)),
    ("copy", lambda n, x: n.copy(x)),
    ("isclose", lambda n, x: n.isclose(x, x)),
    ("count_nonzero", lambda n, x: n.count_nonzero(x > 0)),
    ("nan_to_num", lambda n, x: n.nan_to_num(x)),
    ("norm", lambda n, x: n.linalg.norm(x, axis=1)),
    ("inv", lambda n, x: n.linalg.inv(n.dot(x, x.T))),
    ("det", lambda n, x: n.linalg.det(n.dot(x, x.T))),
    ("solve", lambda n, x: n.linalg.solve(n.dot(x, x.T), x)),
]


@pytest.mark.parametrize("name, f", FUNCTIONS)
def test_functions(name, f):
    y = f(np, t(A))
    assert isinstance(y, genesis.Tensor)
    expected = f(np, A)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10, atol=1e-12)
    assert tuple(y.shape) == np.shape(expected)


def test_functions_that_return_several_or_none():
    x = t(A)
    for ours, theirs in zip(np.split(x, 3, axis=1), np.split(A, 3, axis=1), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert [p.shape for p in np.array_split(x, 2, axis=1)] == [(2, 2), (2, 1)]
    with pytest.raises(ValueError, match="equal pieces"):
        np.split(x, 2, axis=1)
    for ours, theirs in zip(np.nonzero(x > 0), np.nonzero(A > 0), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.array_equal(x, t(A)) and np.allclose(x, A)


def test_functions_without_a_counterpart_get_arrays_or_refuse():
    x = t(A)
    counts, _ = np.histogram(x, bins=3)
    assert isinstance(counts, np.ndarray) and counts.sum() == 6
    assert np.iscomplexobj(x) is False and np.may_share_memory(x, x.numpy())
    assert isinstance(np.spacing(x), np.ndarray)
    x.requires_grad_()
    for f in (lambda: np.histogram(x, bins=3), lambda: np.spacing(x), lambda: np.unwrap(x)):
        with pytest.raises(
            TypeError, match=r"numpy\.\w+ has no counterpart.*detach\(\)\.numpy\(\)"
        ):
            f()
    with pytest.raises(TypeError, match="cannot be given with tensors; use genesis.sum"):
        np.sum(t(A), initial=3.0)


def test_astype():
    x = genesis.tensor([1.5, 2.5], requires_grad=True)
    for dtype in ("float64", np.float64, genesis.float64, float if False else "double"):
        assert x.astype(dtype).dtype == genesis.float64
    assert x.astype(np.int64).tolist() == [1, 2]
    x.astype("float64").sum().backward()
    assert x.grad.tolist() == [1, 1] and x.grad.dtype == genesis.float32
    y = genesis.ones(2)
    assert y.astype("float32") is not y and y.astype("float32", copy=False) is y
    y.astype("float32")[0] = 5
    assert y.tolist() == [1, 1]
