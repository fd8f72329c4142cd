"""Comparisons, logic, and questions about single values."""

import operator

import numpy as np
from numpy import inf, nan

from tests.ops.op import Op, Sample

PAIRS = [(nan, nan), (nan, 1.0), (1.0, nan), (0.0, -0.0), (inf, inf), (-inf, inf), (1.0, 2.0)]
VALUES = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 1e308]


def compared(name, ref, operator=None, called=""):
    return Op(name, ref, nin=2, dtypes="all", result="bool", grad=False, scalar=True, inplace=True,
              operator=operator, at=PAIRS, called=called)  # fmt: skip


def logic(name, ref):
    return Op(name, ref, nin=2, dtypes="all", result="bool", grad=False, inplace=True,
              low=-1.0, high=1.0, at=PAIRS)  # fmt: skip


def asked(name, ref):
    return Op(name, ref, dtypes="all", result="bool", grad=False, at=VALUES)


def isclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=False):
    return np.isclose(x, y, rtol, atol, equal_nan)


def _close(rng):
    x = rng.normal(size=(2, 3))
    return [Sample(x, x + 1e-9), Sample(x, x + 1e-3), Sample(x, x * 1.01, rtol=0.1),
            Sample(x, x[0], atol=10.0), Sample(np.array([1.0, nan]), np.array([2.0, nan])),
            Sample(np.array([nan]), np.array([nan]), equal_nan=True),
            Sample(np.zeros((0, 2)), np.zeros((0, 2)))]  # fmt: skip


def _equal(rng):
    x = rng.normal(size=(2, 3))
    return [Sample(x, x.copy()), Sample(x, x + 1), Sample(x, x[0]), Sample(x, x.reshape(3, 2)),
            Sample(np.array(nan), np.array(nan)), Sample(np.zeros((0, 2)), np.zeros((0, 2)))]  # fmt: skip


OPS: list[Op] = [
    compared("eq", np.equal, operator.eq),
    compared("ne", np.not_equal, operator.ne),
    compared("lt", np.less, operator.lt),
    compared("le", np.less_equal, operator.le),
    compared("gt", np.greater, operator.gt),
    compared("ge", np.greater_equal, operator.ge),
    compared("not_equal", np.not_equal, called="ne"),
    compared("less", np.less, called="lt"),
    compared("less_equal", np.less_equal, called="le"),
    compared("greater", np.greater, called="gt"),
    compared("greater_equal", np.greater_equal, called="ge"),
    logic("logical_and", np.logical_and),
    logic("logical_or", np.logical_or),
    logic("logical_xor", np.logical_xor),
    Op("logical_not", np.logical_not, dtypes="all", result="bool", grad=False, inplace=True,
       at=VALUES),
    asked("isnan", np.isnan),
    asked("isinf", np.isinf),
    asked("isposinf", lambda x: x == inf),
    asked("isneginf", lambda x: x == -inf),
    asked("isfinite", np.isfinite),
    asked("signbit", lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0),
    Op("isclose", isclose, nin=2, dtypes="number", result="bool", grad=False,
       kwargs=[{}, {"rtol": 0.5}, {"atol": 1.0, "equal_nan": True}],
       at=[(1.0, 1.0 + 1e-7), (1.0, 1.001), (inf, inf), (inf, -inf), (inf, 1.0), (nan, nan)],
       raises=[((np.ones(2), np.ones(2)), {"rtol": -1.0}, ValueError, "rtol and atol")]),
    Op("allclose", lambda *args, **kwargs: np.all(isclose(*args, **kwargs)), samples=_close,
       grad=False, layouts=False),
    Op("equal", lambda x, y: np.array_equal(x, y), samples=_equal, grad=False, layouts=False),
]  # fmt: skip
