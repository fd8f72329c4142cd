"""Elementwise ops: one number in, one number out, with broadcasting."""

import operator

import numpy as np
from numpy import inf, nan

from tests.ops.op import Op, Sample

OPS: list[Op] = [
    # --- one input
    Op("abs", np.abs, dtypes="number", inplace=True, operator=operator.abs,
       at=[-0.0, 0.0, inf, -inf, nan, -1e308]),
    Op("floor", np.floor, dtypes="number", inplace=True, at=[-0.0, 0.5, -0.5, 3.0, 1e30, inf, nan]),
    # --- with arguments
    Op("clamp", lambda x, min=None, max=None: np.clip(x, min, max), dtypes="number",
       result="float", inplace=True,
       kwargs=[{"min": -0.5, "max": 0.75}, {"min": 0.5}, {"max": 0.25}],
       at=[-0.5, 0.75, inf, -inf, nan],
       raises=[((np.ones(2),), {}, ValueError, "min.*max")]),
    # --- two inputs
    Op("add", lambda x, y, alpha=1: x + alpha * y, nin=2, dtypes="all", inplace=True, scalar=True,
       operator=operator.add, at=[(inf, -inf), (inf, 1.0), (nan, 0.0), (1e308, 1e308)],
       raises=[((np.arange(2), np.arange(2)), {"alpha": 0.5}, RuntimeError, "alpha")]),
    Op("add", lambda x, y, alpha=1: x + alpha * y, variant="alpha", nin=2, inplace=True,
       kwargs=[{"alpha": -2.5}]),
    Op("mul", np.multiply, nin=2, dtypes="all", inplace=True, scalar=True, operator=operator.mul,
       at=[(inf, 0.0), (-0.0, 5.0), (nan, 0.0)]),
    Op("div", np.divide, nin=2, dtypes="all", result="float", inplace=True, scalar=True, low=0.5,
       operator=operator.truediv, at=[(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (inf, inf), (1.0, inf)]),
    Op("maximum", np.maximum, nin=2, dtypes="all", at=[(nan, 1.0), (1.0, nan), (inf, -inf)]),
    Op("eq", np.equal, nin=2, dtypes="all", result="bool", grad=False, scalar=True,
       operator=operator.eq, at=[(nan, nan), (0.0, -0.0), (inf, inf)]),
    # --- three inputs, one of them not differentiable
    Op("where", np.where, method=False,
       samples=lambda rng: [
           Sample(np.array([[True], [False]]), rng.normal(size=(2, 3)), rng.normal(size=3)),
           Sample(np.array(True), rng.normal(size=()), rng.normal(size=(2, 1))),
           Sample(np.zeros((0, 2), bool), rng.normal(size=2), rng.normal(size=(1, 2))),
       ]),
]  # fmt: skip
