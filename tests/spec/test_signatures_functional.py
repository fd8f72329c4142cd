"""The functions of the original Genesis: every listed signature, called with its own parameters."""

import warnings

import genesis
import genesis.nn.functional as F
import numpy as np
import pytest

A = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], dtype=np.float32)
B = np.array([[2.0, 2.0, 0.5], [1.0, -3.0, 2.0]], dtype=np.float32)
P = np.abs(A) + 0.5  # positive


def t(x):
    return genesis.tensor(x)


def close(ours, expected):
    ours = ours.detach().numpy() if isinstance(ours, genesis.Tensor) else ours
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    assert np.shape(ours) == np.shape(expected)


def var(x, axis=None, keepdims=False, unbiased=True):
    return x.var(axis=axis, keepdims=keepdims, ddof=int(unbiased))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


# name, a call in the original's words, and what NumPy makes of it
POINTWISE = [
    ("add", lambda f: f(a=t(A), b=t(B)), A + B),
    ("sub", lambda f: f(a=t(A), b=t(B)), A - B),
    ("add_scalar", lambda f: f(t(A), scalar=2.0), A + 2),
    ("sub_scalar", lambda f: f(t(A), 2.0, reverse=True), 2 - A),
    ("sub_scalar", lambda f: f(t(A), 2.0), A - 2),
    ("negate", lambda f: f(t(A)), -A),
    ("neg", lambda f: f(t(A)), -A),
    ("multiply", lambda f: f(t(A), t(B)), A * B),
    ("mul", lambda f: f(t(A), t(B)), A * B),
    ("div", lambda f: f(t(A), t(B)), A / B),
    ("mul_scalar", lambda f: f(t(A), 3.0), A * 3),
    ("divide", lambda f: f(t(A), t(B)), A / B),
    ("truediv", lambda f: f(t(A), t(B)), A / B),
    ("floordiv", lambda f: f(t(A), t(B)), A // B),
    ("divide_scalar", lambda f: f(t(P), 2.0, reverse=True), 2 / P),
    ("divide_scalar", lambda f: f(t(P), 2.0), P / 2),
    ("pow_scalar", lambda f: f(t(P), 2.0, reverse=True), 2**P),
    ("pow_scalar", lambda f: f(t(P), 2.0), P**2),
    ("pow", lambda f: f(t(P), t(B)), P**B),
    ("sin", lambda f: f(t(A)), np.sin(A)),
    ("cos", lambda f: f(t(A)), np.cos(A)),
    ("log", lambda f: f(t(P)), np.log(P)),
    ("exp", lambda f: f(t(A)), np.exp(A)),
    ("sqrt", lambda f: f(t(P)), np.sqrt(P)),
    ("eq", lambda f: f(t(A), t(A)), A == A),
    ("abs", lambda f: f(t(A)), np.abs(A)),
    ("clamp", lambda f: f(t(A), min_val=-1.0, max_val=2.0), A.clip(-1, 2)),
    ("clamp", lambda f: f(t(A), min_val=None, max_val=2.0), A.clip(None, 2)),
    ("clip", lambda f: f(t(A), -1.0, 2.0), A.clip(-1, 2)),
    ("where", lambda f: f(condition=t(A > 0), x=t(A), y=t(B)), np.where(A > 0, A, B)),
    ("relu", lambda f: f(t(A)), A.clip(0)),
    ("gelu", lambda f: f(t(np.zeros(2, "f"))), np.zeros(2)),
    ("sigmoid", lambda f: f(t(A)), 1 / (1 + np.exp(-A))),
    ("tanh", lambda f: f(t(A)), np.tanh(A)),
    ("maximum", lambda f: f(t(A), t(B)), np.maximum(A, B)),
]
SHAPES = [
    ("permute", lambda f: f(t(A), (1, 0)), A.T),
    ("transpose", lambda f: f(t(A)), A.T),
    ("transpose", lambda f: f(t(A), 0, 1), A.T),
    ("transpose", lambda f: f(t(A), (0, 1)), A.T),
    ("transpose", lambda f: f(t(A), axis=(-1, -2)), A.T),
    ("t", lambda f: f(t(A)), A.T),
    ("reshape", lambda f: f(t(A), 3, 2), A.reshape(3, 2)),
    ("reshape", lambda f: f(t(A), (3, 2)), A.reshape(3, 2)),
    ("contiguous", lambda f: f(t(A).T), A.T),
    ("expand", lambda f: f(t(A[:, :1]), 2, 4), np.repeat(A[:, :1], 4, 1)),
    ("view", lambda f: f(t(A), 6), A.reshape(6)),
    ("flatten", lambda f: f(t(A)), A.reshape(-1)),
    ("flatten", lambda f: f(t(A[None]), start_dim=1, end_dim=None), A.reshape(1, -1)),
    ("getitem", lambda f: f(t(A), (0, slice(1, 3))), A[0, 1:3]),
    ("broadcast_to", lambda f: f(t(A), (2, 2, 3)), np.broadcast_to(A, (2, 2, 3))),
    ("stack", lambda f: f([t(A), t(B)], dim=1), np.stack([A, B], 1)),
    ("cat", lambda f: f([t(A), t(B)], dim=1), np.concatenate([A, B], 1)),
    ("squeeze", lambda f: f(t(A[:, None]), 1), A),
    ("unsqueeze", lambda f: f(t(A), 1), A[:, None]),
    ("repeat_interleave", lambda f: f(t(A), 2, dim=0), A.repeat(2, 0)),
    ("one_hot", lambda f: f(genesis.tensor([2, 0]), 3), np.eye(3)[[2, 0]]),
]
REDUCTIONS = [
    ("argmax", lambda f: f(t(A), dim=1), A.argmax(1)),
    ("argmax", lambda f: f(t(A)), A.argmax()),
    ("argmin", lambda f: f(t(A), dim=1, keepdim=True), A.argmin(1, keepdims=True)),
    ("summation", lambda f: f(t(A), axis=1, keepdims=True), A.sum(1, keepdims=True)),
    ("summation", lambda f: f(t(A)), A.sum()),
    ("sum", lambda f: f(t(A), axis=0), A.sum(0)),
    ("mean", lambda f: f(t(A), axis=1, keepdims=True), A.mean(1, keepdims=True)),
    ("var", lambda f: f(t(A), axis=1, keepdims=True, unbiased=False), var(A, 1, True, False)),
    ("std", lambda f: f(t(A), axis=0), np.sqrt(var(A, 0))),
    ("std", lambda f: f(t(A)), np.sqrt(var(A))),
    ("logsumexp", lambda f: f(t(A), axis=1), np.log(np.exp(A).sum(1))),
    ("logsumexp", lambda f: f(t(A)), np.log(np.exp(A).sum())),
    ("max", lambda f: f(t(A), axis=1, keepdims=True), A.max(1, keepdims=True)),
    ("max", lambda f: f(t(A), 1), A.max(1)),
    ("max", lambda f: f(t(A)), A.max()),
    ("min", lambda f: f(t(A), axis=0), A.min(0)),
    ("log_softmax", lambda f: f(t(A), dim=-1), np.log(softmax(A))),
    ("softmax", lambda f: f(t(A), dim=-1), softmax(A)),
    ("matmul", lambda f: f(t(A), t(B.T)), A @ B.T),
]


@pytest.mark.parametrize("name, call, expected", POINTWISE + SHAPES + REDUCTIONS)
def test_function(name, call, expected):
    close(call(getattr(F, name)), expected)
    assert hasattr(genesis.functional, name)  # genesis.functional has all of them too


@pytest.mark.parametrize(
    "name, expected", [("add_inplace", A + B), ("sub_inplace", A - B), ("mul_inplace", A * B)]
)
def test_inplace(name, expected):
    x = t(A.copy())
    assert getattr(F, name)(x, t(B)) is x
    close(x, expected)


def test_setitem():
    x = t(A.copy())
    close(F.setitem(x, 0, 7.0), np.vstack([[7, 7, 7], A[1]]))


def test_gather_scatter_topk():
    index = genesis.tensor([[0], [2]])
    close(F.gather(t(A), 1, index), A[[[0], [1]], [[0], [2]]])
    expected = A.copy()
    expected[0, 0], expected[1, 2] = 9, 9
    close(F.scatter(t(A), dim=1, index=index, src=genesis.full((2, 1), 9.0)), expected)
    expected[0, 0], expected[1, 2] = A[0, 0] + 9, A[1, 2] + 9
    close(F.scatter_add(t(A), 1, index, genesis.full((2, 1), 9.0)), expected)
    values, indices = F.topk(t(A), k=2, dim=-1, largest=True, sorted=True)
    close(values, -np.sort(-A, -1)[:, :2])
    close(indices, np.argsort(-A, -1)[:, :2])


def test_split_takes_a_tensor_apart_along_a_dim():
    x = t(A).requires_grad_()
    for pieces in (F.split(x, 1), F.split(x, dim=1), F.split(x, axis=1)):
        assert [tuple(p.shape) for p in pieces] == [(2, 1)] * 3
        close(pieces[2], A[:, 2:])
    sum(p.sum() for p in pieces).backward()
    close(x.grad, np.ones_like(A))


@pytest.mark.parametrize("name", ["cross_entropy", "sparse_cross_entropy"])
def test_cross_entropy(name):
    target = np.array([2, 0])
    f, expected = getattr(F, name), -np.log(softmax(A))[[0, 1], target]
    close(f(t(A), t(target)), expected.mean())
    close(f(t(A), t(target), weight=None, ignore_index=0, reduction="sum"), expected[0])


def test_names_of_tensors_do_not_come_by_a_star():
    names = {}
    exec("from genesis.nn.functional import *", names)
    assert "relu" in names and "sum" not in names and "max" not in names
    with pytest.raises(AttributeError, match="no_such_name"):
        F.no_such_name


def test_genesis_functional():
    g = genesis.functional
    close(g.triu(t(A), k=1), np.triu(A, 1))
    close(g.triu(t(A), device="cpu"), np.triu(A))
    close(g.tril(t(A), k=-1, device=genesis.device("cpu")), np.tril(A, -1))
    assert g.empty(2, 3, device=None, dtype=genesis.float32, requires_grad=True).requires_grad
    close(g.arange(1, 6, 2, dtype=genesis.float32, device=None), [1, 3, 5])
    x = genesis.tensor([1.0, float("inf"), float("nan")])
    close(g.isinf(x), [False, True, False])
    close(g.isnan(x), [False, False, True])
    close(g.isfinite(x), [True, False, False])
    close(g.argsort(t(A), dim=-1, descending=True), np.argsort(-A, -1))
    close(g.bincount(genesis.tensor([0, 2, 2]), weights=None, minlength=4), [1, 0, 2, 0])
    close(g.bincount(genesis.tensor([0, 1]), weights=genesis.tensor([0.5, 2.0])), [0.5, 2])
    close(g.nonzero(t(A > 0)), np.argwhere(A > 0))
    rows, columns = g.nonzero(t(A > 0), as_tuple=True)
    close(rows, np.nonzero(A > 0)[0]), close(columns, np.nonzero(A > 0)[1])
    for name in ("eq", "ne", "gt", "ge", "lt", "le"):
        expected = getattr(
            np,
            {
                "eq": "equal",
                "ne": "not_equal",
                "gt": "greater",
                "ge": "greater_equal",
                "lt": "less",
                "le": "less_equal",
            }[name],
        )
        close(getattr(g, name)(t(A), t(B)), expected(A, B))


def test_allclose_has_an_item():
    answer = genesis.functional.allclose(t(A), t(A + 1e-9), rtol=1e-5, atol=1e-8, equal_nan=False)
    assert answer and answer.item() is True and repr(answer) == "True" and answer == True  # noqa: E712
    assert not genesis.allclose(t(A), t(B)) and genesis.allclose(t(A), t(B)).item() is False
    assert t(A).allclose(t(A)).item()


# ---- genesis.init ---------------------------------------------------------------------------


def test_init_random():
    init = genesis.init
    genesis.manual_seed(0)
    x = init.rand(200, 2, low=2.0, high=3.0, device=None, dtype="float32", requires_grad=True)
    assert x.requires_grad and float(x.min()) >= 2 and float(x.max()) < 3
    x = init.randn(2000, mean=5.0, std=0.1, device="cpu")
    assert abs(float(x.mean()) - 5) < 0.02 and abs(float(x.std()) - 0.1) < 0.02
    assert abs(float(genesis.randn(2000, std=0.02).std()) - 0.02) < 0.004
    y = init.randn_like(x.double().requires_grad_(), mean=1.0, std=0.0)
    assert y.dtype == genesis.float64 and y.requires_grad
    close(y, np.ones(2000))
    assert not init.randn_like(x, requires_grad=None).requires_grad
    b = init.randb(1000, p=0.25, dtype="bool")
    assert b.dtype == genesis.bool and 150 < int(b.sum()) < 350
    i = init.randint(3, 7, (50,), device=None, dtype=genesis.int64)
    assert i.dtype == genesis.int64 and set(i.tolist()) <= {3, 4, 5, 6}


def test_init_constants():
    init = genesis.init
    close(init.constant(2, 3, c=4.0), np.full((2, 3), 4.0))
    close(init.ones(2, 3), np.ones((2, 3)))
    close(init.ones((2, 3), dtype=genesis.float64), np.ones((2, 3)))
    close(init.zeros(2, requires_grad=True), np.zeros(2))
    close(init.full((2,), 7.0), [7, 7])
    assert init.full(3, 7).dtype == genesis.float32
    assert init.empty(2, 3).shape == (2, 3)
    x = genesis.ones(2, 2, requires_grad=True)
    for name, value in (("zeros_like", 0), ("ones_like", 1), ("empty_like", None)):
        y = getattr(init, name)(x, dtype=None, device=None, requires_grad=None)
        assert y.requires_grad and y.shape == (2, 2)
        assert not getattr(init, name)(x, requires_grad=False).requires_grad
        if value is not None:
            close(y, np.full((2, 2), value))
    close(init.one_hot(4, genesis.tensor([1, 3])), np.eye(4)[[1, 3]])
    close(init.eye(2, 3), np.eye(2, 3))
    y = init.arange(1, 7, 2)
    close(y, [1, 3, 5])
    assert y.dtype == genesis.float32 and init.arange(3).tolist() == [0, 1, 2]
    close(init.outer(t(A[0]), t(B[0])), np.outer(A[0], B[0]))


@pytest.mark.parametrize(
    "name, std",
    [
        ("xavier_uniform", np.sqrt(2 / 300)),
        ("xavier_normal", np.sqrt(2 / 300)),
        ("kaiming_uniform", np.sqrt(2 / 100)),
        ("kaiming_normal", np.sqrt(2 / 100)),
    ],
)
def test_init_by_fan(name, std):
    genesis.manual_seed(1)
    x = getattr(genesis.init, name)(100, 200, dtype=genesis.float32, requires_grad=True)
    assert x.shape == (100, 200) and x.requires_grad
    np.testing.assert_allclose(float(x.std()), std, rtol=0.05)
    if name.startswith("kaiming"):
        getattr(genesis.init, name)(2, 3, nonlinearity="relu")
    else:
        getattr(genesis.init, name)(2, 3, gain=2.0)


def test_from_numpy():
    for f in (genesis.from_numpy, genesis.init.from_numpy):
        x = f(A, device="cpu", dtype=genesis.float64, requires_grad=True)
        assert x.dtype == genesis.float64 and x.requires_grad
        shared = A.copy()
        f(shared)[0, 0] = 9
        assert shared[0, 0] == 9
        assert f([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2) and f(5.0).shape == ()
        assert f(A, True).requires_grad and not f(A, False).requires_grad  # GT's order
        with pytest.warns(UserWarning, match="no effect on int64"):
            assert not f(np.arange(3), requires_grad=True).requires_grad
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(np.arange(3), requires_grad=False)
    with pytest.raises(RuntimeError, match="cuda"):
        genesis.from_numpy(A, device="cuda")
