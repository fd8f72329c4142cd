"""One program per family of kernels: against NumPy, bitwise for any number of threads, and in every
instruction set that this machine has."""

import genesis
import numpy as np
import pytest
from genesis.nn import functional as F

from tests.instruction_sets import NARROWER, run_tests

ODD = [(0, 5), (1, 1), (3, 17), (67, 129), (5, 4099)]


def _x(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def softmax(n, m):
    x = _x(n, m)
    return F.softmax(genesis.tensor(x), -1), _softmax(x.astype(np.float64))


def cross_entropy(n, m):
    x, target = _x(n, m), np.arange(n) % m
    chosen = np.log(_softmax(x.astype(np.float64)))[np.arange(n), target]
    return F.cross_entropy(genesis.tensor(x), genesis.tensor(target), reduction="none"), -chosen


def layer_norm(n, m):
    x = _x(n, m)
    y = x.astype(np.float64)
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
    return F.layer_norm(genesis.tensor(x), (m,)), y


def attention(n, m):
    q, k, v = (_x(2, n, 8, seed=s) for s in range(3))
    weights = _softmax(np.einsum("bqd,bkd->bqk", q, k).astype(np.float64) / np.sqrt(8))
    y = F.scaled_dot_product_attention(*map(genesis.tensor, (q, k, v)))
    return y, np.einsum("bqk,bkd->bqd", weights, v)


def max_pool(n, m):
    x = _x(2 if n else 0, 3, n + 2, m + 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
    return F.max_pool2d(genesis.tensor(x), 2, 1), windows.max((-2, -1))


def avg_pool(n, m):
    x = _x(2 if n else 0, 3, n + 2, m + 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
    return F.avg_pool2d(genesis.tensor(x), 2, 1), windows.mean((-2, -1))


def embedding(n, m):
    table, index = _x(7, m), np.arange(n * 3) % 5
    weight = genesis.tensor(table, requires_grad=True)
    seed = _x(n * 3, m, seed=1)
    F.embedding(genesis.tensor(index), weight).backward(genesis.tensor(seed))
    sums = np.zeros((7, m))
    np.add.at(sums, index, seed)
    return weight.grad, sums


def sort(n, m):
    x = _x(n, m)
    return genesis.tensor(x).sort(-1).values, np.sort(x, -1)


def topk(n, m):
    x = _x(n, m)
    k = min(m, 3)
    return genesis.tensor(x).topk(k, -1).values, -np.sort(-x, -1)[..., :k]


def recurrent(n, m):
    x = _x(3, n, 5)
    w, u = _x(4, 5, seed=1), _x(4, 4, seed=2)
    cell = genesis.nn.RNN(5, 4, bias=False)
    with genesis.no_grad():
        cell.weight_ih_l0.copy_(genesis.tensor(w))
        cell.weight_hh_l0.copy_(genesis.tensor(u))
        y, _ = cell(genesis.tensor(x))
    state, states = np.zeros((n, 4)), []
    for step in x:
        state = np.tanh(step @ w.T + state @ u.T)
        states.append(state)
    return y, np.stack(states)


def adam(n, m):
    x, grad = _x(n, m), _x(n, m, seed=1)
    p = genesis.nn.Parameter(genesis.tensor(x))
    p.grad = genesis.tensor(grad)
    genesis.optim.Adam([p], lr=0.1).step()
    wide = grad.astype(np.float64)
    return p, x - 0.1 * wide / (np.abs(wide) + 1e-8)


FAMILIES = [
    softmax, cross_entropy, layer_norm, attention, max_pool, avg_pool, embedding, sort, topk,
    recurrent, adam,
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", ODD, ids=str)
def test_against_numpy_for_any_number_of_threads(family, size, num_threads):
    if family is attention:
        size = (min(size[0], 67), size[1])
    bits = set()
    for threads in (1, 2, 7):
        genesis.set_num_threads(threads)
        actual, expected = family(*size)
        actual = actual.detach().numpy()
        np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-5)
        bits.add(actual.tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize("isa", NARROWER)
def test_narrower_instruction_sets(isa):
    run_tests(isa, f"{__file__}::test_against_numpy_for_any_number_of_threads")
