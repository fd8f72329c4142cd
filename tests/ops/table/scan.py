"""Ops along one dimension that keep it: running sums and their like, softmax."""

import numpy as np
from scipy import special

from tests.ops.op import Op, Sample


def _lines(rng, low=-2.0, high=2.0):
    def x(*shape):
        return np.asarray(rng.uniform(low, high, shape))

    return [
        Sample(x(2, 3), 1),
        Sample(x(3, 4), dim=0),
        Sample(x(2, 3, 2), dim=-2),
        Sample(x(5), 0),
        Sample(x(3, 9), 0),  # wide enough for neighbouring lines to run together
        Sample(x(), 0),
        Sample(x(4, 1), dim=-1),
        Sample(x(0, 3), 0),
        Sample(x(0, 3), 1),
    ]


def _distinct(rng):
    def x(*shape):
        n = int(np.prod(shape))
        return (rng.permutation(n) * (4.0 / max(n, 1)) - 1.9).reshape(shape)

    return [
        Sample(x(2, 4), 1),
        Sample(x(4, 9), dim=0),
        Sample(x(2, 3, 2), dim=-2),
        Sample(np.array(0.5), 0),
    ]


def _zeros(rng):
    return [
        Sample(np.array([[2.0, 0.0, 3.0, 1.5], [0.0, 1.0, 0.0, 2.0], [1.0, 2.0, 3.0, 0.0]]), dim=d)
        for d in (0, 1)
    ]


def _scan(function):
    return lambda x, dim: function(x, axis=dim) if np.ndim(x) else x


def _extreme(ufunc):
    """values and indices of the last extreme so far."""

    def reference(x, dim):
        if np.ndim(x) == 0:
            return x, np.int64(0)
        values = ufunc.accumulate(x, axis=dim)
        places = np.indices(x.shape)[dim]
        return values, np.maximum.accumulate(np.where(x == values, places, 0), axis=dim)

    return reference


def _softmax(x, dim, dtype=None):
    return special.softmax(x, axis=dim) if np.size(x) else x


def _log_softmax(x, dim, dtype=None):
    return special.log_softmax(x, axis=dim) if np.size(x) else x


DIM = [((np.ones((2, 3)), 5), {}, IndexError, "dim 5")]
INTEGER = [((np.ones(2, np.int64), 0), {}, TypeError, "float")]

OPS: list[Op] = [
    Op("cumsum", _scan(np.cumsum), samples=_lines, dtypes="all", result="sum", inplace=True,
       raises=DIM, complex=True),
    Op("cumprod", _scan(np.cumprod), samples=_lines, dtypes="all", result="sum", inplace=True,
       raises=DIM, complex=True),
    Op("cumprod", _scan(np.cumprod), variant="zeros", samples=_zeros, inplace=True),
    Op("cummax", _extreme(np.maximum), samples=_distinct, dtypes="all", raises=DIM),
    Op("cummin", _extreme(np.minimum), samples=_distinct, dtypes="all", raises=DIM),
    Op("logcumsumexp", _scan(np.logaddexp.accumulate), samples=_lines, raises=DIM + INTEGER),
    Op("logcumsumexp", lambda x, dim: np.log(np.cumsum(np.exp(x), dim)), variant="complex", complex=True,
       samples=lambda rng: [Sample(rng.normal(size=(3, 4)), 1), Sample(rng.normal(size=(3, 4)), 0)]),
    Op("softmax", _softmax, samples=_lines, raises=DIM + INTEGER),
    Op("log_softmax", _log_softmax, samples=_lines, raises=DIM + INTEGER),
    Op("softmin", lambda x, dim: _softmax(-x, dim), samples=_lines, raises=DIM + INTEGER),
]  # fmt: skip
