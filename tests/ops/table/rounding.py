"""Rounding, and division with a whole quotient."""

import operator

import numpy as np
from numpy import inf, nan

from tests.ops.op import Op, Sample

VALUES = [-0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 1e30, inf, -inf, nan]
PAIRS = [(5.0, 3.0), (-5.0, 3.0), (5.0, -3.0), (-5.0, -3.0), (6.0, 3.0), (-6.0, 3.0), (0.0, 2.0),
         (5.0, inf), (inf, 2.0), (nan, 1.0), (1.0, nan), (0.5, 0.0), (1e-3, 7.0)]  # fmt: skip
ZERO = ((np.arange(3), np.array([1, 0, 2])), ZeroDivisionError, "division by zero")
ZERO_NUMBER = ((np.arange(3), 0), RuntimeError, "division by zero")
NO_BOOL = ((np.array([True]), np.array([True])), TypeError, "bool")


def step(name, ref, **options):
    return Op(name, ref, dtypes="number", inplace=True, at=VALUES, **options)


def divided(name, ref, **options):
    kwargs = options.get("kwargs", [{}])[0]
    raises = [(args, kwargs, error, text) for args, error, text in (ZERO, ZERO_NUMBER, NO_BOOL)]
    return Op(name, ref, nin=2, dtypes="number", inplace=True, scalar=not kwargs, low=1.0, high=6.0,
              at=PAIRS, raises=raises, **options)  # fmt: skip


def floor_div(x, y, rounding_mode="floor"):
    # np.floor_divide says nan for inf / 2 and 0.5 / 0 as Python does not; division says inf
    whole = np.floor_divide(x, y)
    return np.where((y == 0), np.divide(x, y), whole) if whole.dtype.kind == "f" else whole


def trunc_div(x, y, rounding_mode="trunc"):
    if np.asarray(x).dtype.kind in "iu" and np.asarray(y).dtype.kind in "iu":
        return np.trunc(np.asarray(x) / np.asarray(y)).astype(np.int64)
    return np.trunc(np.divide(x, y))


def _signs(rng):
    """Every combination of signs, away from whole quotients."""
    x = np.array([5.3, -5.3, 5.3, -5.3, 0.2, -0.2])
    y = np.array([2.0, 2.0, -2.0, -2.0, -3.0, 3.0])
    return [Sample(x, y), Sample(x, 2.5), Sample(x, -2.5), Sample(x.reshape(2, 3), y[:3])]


OPS: list[Op] = [
    step("floor", np.floor, raises=[((np.array([True]),), {}, TypeError, "bool")]),
    step("ceil", np.ceil),
    step("trunc", np.trunc),
    step("fix", np.trunc),
    step("round", np.round),
    Op("round", lambda x, decimals: np.round(x, decimals), variant="decimals", inplace=True,
       low=-50.0, high=50.0, kwargs=[{"decimals": 1}, {"decimals": -1}],
       raises=[((np.arange(3),), {"decimals": 1}, TypeError, "floating")]),
    Op("frac", lambda x: x - np.trunc(x), inplace=True, at=VALUES[:-3],
       raises=[((np.arange(3),), {}, TypeError, "floating")]),
    divided("floor_divide", floor_div, operator=operator.floordiv,
            unlike_torch="PyTorch has no gradient for it"),
    divided("div", floor_div, variant="floor", kwargs=[{"rounding_mode": "floor"}]),
    divided("div", trunc_div, variant="trunc", kwargs=[{"rounding_mode": "trunc"}]),
    divided("divide", trunc_div, variant="trunc", called="div", kwargs=[{"rounding_mode": "trunc"}]),
    divided("remainder", np.remainder, operator=operator.mod),
    divided("fmod", np.fmod),
    Op("remainder", np.remainder, variant="signs", samples=_signs),
    Op("fmod", np.fmod, variant="signs", samples=_signs),
]  # fmt: skip
