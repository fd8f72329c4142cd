"""Activation functions."""

import numpy as np
from numpy import inf, nan
from scipy import special

from tests.ops.op import Op

SPECIAL = [-inf, -1000.0, -1.0, -0.0, 0.0, 1.0, 1000.0, inf, nan]


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.logaddexp(0, beta * x) / beta)


OPS: list[Op] = [
    Op("relu", lambda x: np.where(x <= 0, 0, x), dtypes="number", inplace=True, at=SPECIAL,
       raises=[((np.array([True]),), {}, TypeError, "got bool")]),
    Op("leaky_relu", lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
       method=False, kwargs=[{}, {"negative_slope": 0.3}], at=SPECIAL[1:]),
    Op("elu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)), method=False,
       kwargs=[{}, {"alpha": 1.7}], at=SPECIAL),
    Op("gelu", gelu, method=False, kwargs=[{}, {"approximate": "tanh"}], at=[-5.0, 0.0, 5.0, nan],
       raises=[((np.ones(2),), {"approximate": "erf"}, ValueError, "'none' or 'tanh', got 'erf'"),
               ((np.arange(2),), {}, TypeError, "must be floating, got int64")]),
    Op("silu", lambda x: x * special.expit(x), method=False, at=[-1000.0, -5.0, 0.0, 5.0, 1e3, nan]),
    Op("softplus", softplus, method=False, kwargs=[{}, {"beta": 3.0}, {"threshold": 0.5}],
       at=[-1e3, 0.0, 1e3, nan], grad_options={"atol": 1e-4},
       raises=[((np.ones(2),), {"beta": -1.0}, ValueError, "beta must be positive")]),
]  # fmt: skip
