"""Ops that choose between values."""

import numpy as np
from numpy import inf, nan

from tests.ops.op import Op, Sample

EXTREMES = [(nan, 1.0), (1.0, nan), (nan, nan), (inf, -inf), (-inf, nan), (2.0, 2.0), (0.5, 3.0)]


def clamp(x, min=None, max=None):
    return np.clip(x, min, max)


def _bounds(rng):
    def x(*shape):
        return np.asarray(rng.normal(size=shape))

    return [
        Sample(x(2, 3), x(2, 3) - 1, x(2, 3) + 1),
        Sample(x(2, 3), x(3)),
        Sample(x(2, 3), max=x(2, 1)),
        Sample(x(0, 3), x(3), x(3)),
    ]


def _choices(rng):
    return [
        Sample(np.array([[True], [False]]), rng.normal(size=(2, 3)), rng.normal(size=3)),
        Sample(np.array(True), rng.normal(size=()), rng.normal(size=(2, 1))),
        Sample(np.zeros((0, 2), bool), rng.normal(size=2), rng.normal(size=(1, 2))),
        Sample(rng.random((4, 5)) < 0.5, rng.normal(size=(4, 5)), 2.5),
        Sample(rng.random((4, 5)) < 0.5, 0, rng.normal(size=(4, 5))),
        Sample(rng.random((33, 67)) < 0.5, rng.normal(size=(33, 67)), rng.normal(size=(67,))),
    ]


def one_sided(name, bound, ref):
    return Op(name, ref, dtypes="number", result="float", inplace=True, kwargs=[{bound: 0.5}],
              at=[0.5, inf, -inf, nan])  # fmt: skip


OPS: list[Op] = [
    Op("where", np.where, method=False, dtypes="all", samples=_choices,
       raises=[((np.ones(2, np.float32), np.ones(2), np.ones(2)), {}, TypeError, "must be bool"),
               ((np.ones(3, bool), np.ones(2), np.ones(2)), {}, ValueError, r"where.*\(3,\).*\(2,\)")], complex=True),
    Op("maximum", np.maximum, nin=2, dtypes="all", at=EXTREMES),
    Op("minimum", np.minimum, nin=2, dtypes="all", at=EXTREMES),
    Op("fmax", np.fmax, nin=2, dtypes="all", at=EXTREMES),
    Op("fmin", np.fmin, nin=2, dtypes="all", at=EXTREMES),
    Op("clamp", clamp, dtypes="number", result="float", inplace=True,
       kwargs=[{"min": -0.5, "max": 0.75}, {"min": 0.5}, {"max": 0.25}, {"min": 1.0, "max": -1.0}],
       at=[-0.5, 0.75, inf, -inf, nan], raises=[((np.ones(2),), {}, ValueError, "min.*max")]),
    Op("clamp", clamp, variant="integer bounds", dtypes="number", inplace=True,
       kwargs=[{"min": -1, "max": 1}]),
    Op("clamp", clamp, variant="tensors", dtypes="number", inplace=True, samples=_bounds),
    Op("clamp", clamp, variant="larger bounds",
       samples=lambda rng: [Sample(rng.normal(size=3), rng.normal(size=(2, 1)) - 1, np.asarray(1.0))],
       unlike_torch="PyTorch computes the value, but not the gradient"),
    Op("clip", clamp, dtypes="number", result="float", inplace=True,
       kwargs=[{"min": -0.5, "max": 0.75}]),
    one_sided("clamp_min", "min", lambda x, min: np.clip(x, min, None)),
    one_sided("clamp_max", "max", lambda x, max: np.clip(x, None, max)),
    Op("heaviside", lambda x, v: np.where(x == 0, v, (x > 0) * 1.0), nin=2, dtypes="all",
       inplace=True, at=[(0.0, 0.5), (-0.0, 0.5), (inf, 2.0), (-inf, 2.0), (0.0, nan), (1.0, nan)],
       unlike_torch="PyTorch has no gradient for it"),
    Op("nan_to_num", lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(
        x, nan=nan, posinf=posinf, neginf=neginf),
       dtypes="number", inplace=True, kwargs=[{}, {"nan": 1.0, "posinf": 2.0, "neginf": -3.0}],
       samples=lambda rng: [Sample(rng.normal(size=(2, 3))), Sample(rng.normal(size=()), 1.0, 2.0)]),
    Op("nan_to_num", lambda x, nan=0.0, posinf=2.0, neginf=-3.0: np.nan_to_num(
        x, nan=nan, posinf=posinf, neginf=neginf), variant="limits", inplace=True,
       kwargs=[{"nan": 1.0, "posinf": 2.0, "neginf": -3.0}], at=[nan, inf, -inf, 1.0, -0.0]),
]  # fmt: skip
