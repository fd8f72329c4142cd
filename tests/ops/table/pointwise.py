"""Arithmetic: one number in, or two or three with broadcasting, one number out."""

import operator

import numpy as np
from numpy import inf, nan
from scipy import special

from tests.ops.op import Op, Sample

ZEROS = [-0.0, 0.0, 1.0, -1.0, 1e-30, 1e30, inf, -inf, nan]
PAIRS = [(inf, -inf), (inf, 1.0), (nan, 0.0), (0.0, nan), (1e308, 1e308), (-0.0, 0.0), (0.0, inf)]
NO_BOOL = ((np.array([True]), np.array([False])), {}, TypeError, "logical_xor")


def add(x, y, alpha=1):
    return x + alpha * y


def sub(x, y, alpha=1):
    return x - alpha * y


def power(x, y):
    return np.power(x, y)


def lerp(x, end, weight):
    return x + weight * (end - x)


def two(name, ref, **options):
    return Op(name, ref, nin=2, **options)


ARITHMETIC: list[Op] = [
    two("add", add, dtypes="all", inplace=True, scalar=True, operator=operator.add, at=PAIRS,
        raises=[((np.arange(2), np.arange(2)), {"alpha": 0.5}, RuntimeError, "alpha"),
                ((np.ones(2), None), {}, TypeError, "'other' must be a Tensor or a number")], complex=True),
    two("add", add, variant="alpha", inplace=True, scalar=True, kwargs=[{"alpha": -2.5}]),
    two("add", add, variant="integer alpha", dtypes="number", inplace=True, kwargs=[{"alpha": 3}]),
    two("sub", sub, dtypes="number", inplace=True, scalar=True, operator=operator.sub, at=PAIRS,
        raises=[NO_BOOL, ((np.arange(2), np.arange(2)), {"alpha": 0.5}, RuntimeError, "alpha")], complex=True),
    two("sub", sub, variant="alpha", inplace=True, kwargs=[{"alpha": 2}, {"alpha": 0.5}]),
    two("subtract", sub, called="sub", dtypes="number", inplace=True, scalar=True),
    two("rsub", lambda x, y, alpha=1: y - alpha * x, dtypes="number", scalar=True,
        kwargs=[{}, {"alpha": 2}], raises=[NO_BOOL]),
    two("mul", np.multiply, dtypes="all", inplace=True, scalar=True, operator=operator.mul,
        at=PAIRS, complex=True),
    two("multiply", np.multiply, called="mul", dtypes="all", inplace=True, scalar=True),
    two("div", np.divide, dtypes="all", result="float", inplace=True, scalar=True, low=0.5,
        operator=operator.truediv, at=[(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (inf, inf), (1.0, inf)],
        raises=[((np.ones(2), 2), {"rounding_mode": "up"}, ValueError, "'trunc' or 'floor', got 'up'")], complex=True),
    two("divide", np.divide, called="div", dtypes="all", result="float", inplace=True, scalar=True, low=0.5),
    two("true_divide", np.divide, called="div", dtypes="all", result="float", inplace=True, scalar=True, low=0.5),
    Op("positive", np.positive, dtypes="number", operator=operator.pos, view=True,
       raises=[((np.ones(2, bool),), {}, TypeError, "bool has no sign")]),
    Op("neg", np.negative, dtypes="number", inplace=True, operator=operator.neg, at=ZEROS,
       raises=[((np.array([True]),), {}, TypeError, "logical_not")], complex=True),
    Op("negative", np.negative, dtypes="number", inplace=True),
    Op("abs", np.abs, dtypes="number", inplace=True, operator=operator.abs, at=[*ZEROS, -1e308], complex=True),
    Op("absolute", np.abs, dtypes="number", inplace=True),
    Op("sign", lambda x: (x > 0) * 1 - (x < 0) * 1, dtypes="number", inplace=True),
    Op("sgn", lambda x: (x > 0) * 1 - (x < 0) * 1, dtypes="number", inplace=True,
       unlike_torch="its gradient is a tensor that NumPy cannot see"),
    Op("square", np.square, dtypes="number", inplace=True, at=ZEROS, complex=True),
    Op("reciprocal", np.reciprocal, result="float", inplace=True, low=0.5, at=ZEROS, complex=True),
]  # fmt: skip

_BASES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, inf, -inf, nan]
_EXPONENTS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -3.0, 2.5, inf, -inf, nan]


def powers(*exponents):
    """One tensor, raised to each of some numbers."""
    return lambda rng: [Sample(rng.uniform(0.3, 2.0, (2, 3)), p) for p in exponents]


POWERS: list[Op] = [
    two("pow", power, dtypes="number", inplace=True, scalar=True, low=0.3,
        operator=operator.pow, at=[(x, y) for x in _BASES for y in _EXPONENTS],
        raises=[((np.arange(3), -1), {}, RuntimeError, "negative integer powers")]),
    Op("pow", power, variant="fixed exponent", inplace=True, operator=operator.pow,
       samples=powers(0, 1, 2, 3, 4, 5, 0.5, 1.5, -0.5, -1, -2, -3, -4, -2.5, 0.0, True), complex=True),
    Op("pow", power, variant="integers", dtypes="int", grad=False,
       samples=lambda rng: [Sample(np.array([-3.0, -1.0, 0.0, 2.0, 7.0]), p) for p in (0, 1, 2, 3)]),
    Op("pow", power, variant="fixed base", method=False, operator=operator.pow,
       samples=lambda rng: [Sample(s, rng.uniform(0.3, 2.0, (2, 3))) for s in (2, 0.5, 1.0, 0)]),
    two("float_power", power, called="pow", dtypes="number", result="float64", scalar=True, low=0.3, inplace=True),
    two("xlogy", special.xlogy, dtypes="number", result="float", inplace=True, scalar=True, low=0.3,
        at=[(0.0, 0.0), (0.0, -1.0), (0.0, nan), (nan, 1.0), (1.0, 0.0), (2.0, inf), (1.0, -1.0)]),
]  # fmt: skip

THREE: list[Op] = [
    Op("addcmul", lambda x, a, b, value=1: x + value * a * b, nin=3, dtypes="number", inplace=True,
       kwargs=[{}, {"value": 3}],
       raises=[((np.arange(2), np.arange(2), np.arange(2)), {"value": 0.5}, TypeError, "value")], complex=True),
    Op("addcmul", lambda x, a, b, value=1: x + value * a * b, variant="value", nin=3, inplace=True,
       kwargs=[{"value": -0.5}]),
    Op("addcdiv", lambda x, a, b, value=1: x + value * a / b, nin=3, inplace=True, low=0.5,
       kwargs=[{}, {"value": -0.5}],
       raises=[((np.arange(2), np.arange(2), np.arange(2)), {}, TypeError, "division of integers")], complex=True),
    Op("lerp", lerp, nin=3, inplace=True, low=0.0, high=1.0,
       at=[(1.0, 5.0, 1.0), (1.0, 5.0, 0.0), (nan, 1.0, 0.5), (0.0, 1.0, 2.0)],
       raises=[((np.arange(2), np.arange(2), 0.5), {}, TypeError, "must be floating")], complex=True),
    Op("lerp", lerp, variant="number", inplace=True,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), w)
                            for w in (0.25, 0.75, 0, 1, -0.5)]),
]  # fmt: skip

_ANGLES = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 1e-300, 1e300]

TWO: list[Op] = [
    two("atan2", np.arctan2, dtypes="all", result="float", inplace=True,
        at=[(y, x) for y in _ANGLES for x in _ANGLES]),
    two("arctan2", np.arctan2, called="atan2", dtypes="all", result="float", inplace=True),
    two("hypot", np.hypot, dtypes="number", result="float", inplace=True, low=0.5,
        at=[(3.0, 4.0), (inf, nan), (nan, -inf), (nan, 1.0), (0.0, -0.0), (1e-30, 1e-30)]),
    two("copysign", np.copysign, dtypes="all", result="float", inplace=True, scalar=True,
        at=[(1.0, -0.0), (1.0, 0.0), (nan, -1.0), (inf, -inf), (-0.0, 1.0)]),
    two("logaddexp", np.logaddexp, dtypes="number", result="float",
        at=[(inf, inf), (-inf, -inf), (inf, -inf), (1000.0, 1000.0), (-1000.0, 1.0), (nan, 1.0),
            (1.0, nan), (nan, inf)]),
    two("logaddexp", lambda x, y: np.log(np.exp(x) + np.exp(y)), variant="complex", complex=True),
    two("logaddexp2", np.logaddexp2, dtypes="number", result="float",
        at=[(inf, inf), (-inf, -inf), (inf, -inf), (1000.0, 1000.0), (-1000.0, 1.0), (nan, 1.0)]),
    two("ldexp", lambda x, y: x * 2.0**y, called="mul", dtypes="number", result="float", inplace=True),
]  # fmt: skip

OPS: list[Op] = [*ARITHMETIC, *POWERS, *THREE, *TWO]
