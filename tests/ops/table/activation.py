"""Activation functions."""

import numpy as np
from numpy import inf, nan
from scipy import special

from tests.ops.op import Op, Sample

SPECIAL = [-inf, -1000.0, -1.0, -0.0, 0.0, 1.0, 1000.0, inf, nan]


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.logaddexp(0, beta * x) / beta)


def elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return np.where(x > 0, scale * x, scale * alpha * np.expm1(np.minimum(x, 0) * input_scale))


def celu(x, alpha=1.0):
    return elu(x, alpha, 1.0, 1 / alpha)


def selu(x):
    return elu(x, 1.6732632423543772, 1.0507009873554805)


def mish(x):
    return x * np.tanh(np.logaddexp(0, x))


def hardsigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def softshrink(x, lambd=0.5):
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def prelu(x, weight):
    shape = [-1 if i == 1 else 1 for i in range(x.ndim)] if weight.size > 1 else []
    return np.where(x > 0, x, x * weight.reshape(shape))


def glu(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a * special.expit(b)


def _prelu_samples(rng):
    shapes = [
        ((2, 3), (3,)),
        ((2, 3, 4), (3,)),
        ((4,), (1,)),
        ((2, 3), (1,)),
        ((), ()),
        ((2, 0), (1,)),
        ((5,), (1,)),
    ]
    return [Sample(rng.normal(size=x), rng.normal(size=w)) for x, w in shapes]


def _rows(name, reference, kwargs, at=SPECIAL, **options):
    """The function, and the one that works in place."""
    return [
        Op(name, reference, method=False, kwargs=kwargs, at=at, **options),
        Op(f"{name}_", reference, method=False, kwargs=kwargs[:1], view=True, layouts=False),
    ]


def _adds_up_to_one(outputs, sample):
    (y,) = outputs
    assert (y >= 0).all()
    total = y.sum(sample.kwargs.get("dim", -1)).detach().float().numpy()
    np.testing.assert_allclose(total, 1.0, rtol=1e-2)


OPS: list[Op] = [
    Op("relu", lambda x: np.where(x <= 0, 0, x), dtypes="number", inplace=True, at=SPECIAL,
       raises=[((np.array([True]),), {}, TypeError, "got bool")]),
    *_rows("leaky_relu", lambda x, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
           [{}, {"negative_slope": 0.3}], SPECIAL[1:]),
    *_rows("elu", elu, [{}, {"alpha": 1.7}]),
    *_rows("celu", celu, [{}, {"alpha": 0.5}],
           raises=[((np.ones(2),), {"alpha": 0.0}, ValueError, "alpha must not be 0")]),
    *_rows("selu", selu, [{}]),
    *_rows("threshold", lambda x, threshold, value: np.where(x <= threshold, value, x),
           [{"threshold": 0.3, "value": -5.0}]),
    *_rows("hardtanh", lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
           [{}, {"min_val": -0.3, "max_val": 0.7}],
           raises=[((np.ones(2),), {"min_val": 2.0}, ValueError, "must not be greater than max_val")]),
    Op("relu6", lambda x: np.clip(x, 0, 6), method=False, low=-8.0, high=8.0, at=SPECIAL),
    Op("relu6", lambda x: np.clip(x, 0, 6), method=False, low=-8.0, high=8.0, dtypes="int", variant="integers"),
    Op("hardtanh", lambda x, min_val, max_val: np.clip(x, int(min_val), int(max_val)), method=False,
       low=-8.0, high=8.0, dtypes="int", variant="integers",
       kwargs=[{"min_val": 1, "max_val": 3}, {"min_val": -0.7, "max_val": 4.9}],
       raises=[((np.ones(2, np.uint8),), {}, ValueError, "hardtanh: .*-1.*uint8"),
               ((np.ones(2, bool),), {}, TypeError, "must be floating, got bool")]),
    Op("threshold", lambda x, threshold, value: np.where(x <= int(threshold), int(value), x), method=False,
       low=-8.0, high=8.0, dtypes="int", variant="integers",
       kwargs=[{"threshold": 1, "value": 3}, {"threshold": 2.7, "value": 4.9}],
       raises=[((np.ones(2, np.int8), 1, 200), {}, ValueError, "threshold: .*200.*int8")]),
    Op("hardsigmoid", hardsigmoid, method=False, low=-5.0, high=5.0, at=SPECIAL,
       unlike_torch="its gradient has 1/6 rounded to float32"),
    Op("hardswish", lambda x: x * hardsigmoid(x), method=False, low=-5.0, high=5.0, at=[-1e3, -3.0, 0.0, 3.0, 1e3, nan]),
    Op("hardshrink", lambda x, lambd=0.5: np.where(np.abs(x) <= lambd, 0, x), kwargs=[{}, {"lambd": 0.1}], at=SPECIAL),
    Op("softshrink", softshrink, method=False, kwargs=[{}, {"lambd": 0.1}], at=SPECIAL[1:-2],
       raises=[((np.ones(2),), {"lambd": -1.0}, ValueError, "lambd must not be negative")]),
    Op("prelu", prelu, samples=_prelu_samples,
       raises=[((np.ones((2, 3)), np.ones(2)), {}, ValueError, "each of the 3 channels"),
               ((np.ones((2, 3)), np.ones((3, 1))), {}, ValueError, "0-d or 1-d"),
               ((np.ones((2, 3)), np.ones(3, np.float32)), {}, TypeError, "the input's dtype, float64, got float32")]),
    Op("rrelu", lambda x, lower=1 / 8, upper=1 / 3, training=False: np.where(x > 0, x, x * (lower + upper) / 2),
       method=False, kwargs=[{}, {"lower": 0.1, "upper": 0.2}],
       raises=[((np.ones(2),), {"lower": 1.0}, ValueError, "lower must not be greater than upper")]),
    Op("rrelu_", lambda x, lower=1 / 8, upper=1 / 3: np.where(x > 0, x, x * (lower + upper) / 2), method=False,
       view=True, layouts=False),
    Op("mish", mish, method=False, at=[-1000.0, -5.0, 0.0, 5.0, 1e3, nan]),
    Op("logsigmoid", lambda x: -np.logaddexp(0, -x), method=False, at=[-1e3, 0.0, 1e3, nan]),
    Op("softsign", lambda x: x / (1 + np.abs(x)), method=False, at=[-1e3, 0.0, 1e3, nan], complex=True),
    Op("tanhshrink", lambda x: x - np.tanh(x), method=False, at=[-1e3, 0.0, 1e3, nan], rtol=1e-9),
    Op("glu", glu, method=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 4))), Sample(rng.normal(size=(2, 4)), dim=0),
                            Sample(rng.normal(size=(0, 4))), Sample(rng.normal(size=(2, 3, 2)), 0)],
       raises=[((np.ones((2, 3)),), {}, ValueError, "must have an even size"),
               ((np.ones(()),), {}, ValueError, "has no halves")]),
    Op("gumbel_softmax", method=False, random=True, check=_adds_up_to_one,
       samples=lambda rng: [Sample(rng.normal(size=(2, 4))), Sample(rng.normal(size=(2, 4)), tau=0.5, dim=0)]),
    Op("gelu", gelu, method=False, kwargs=[{}, {"approximate": "tanh"}], at=[-5.0, 0.0, 5.0, nan],
       raises=[((np.ones(2),), {"approximate": "erf"}, ValueError, "'none' or 'tanh', got 'erf'"),
               ((np.arange(2),), {}, TypeError, "must be floating, got int64")]),
    Op("silu", lambda x: x * special.expit(x), method=False, at=[-1000.0, -5.0, 0.0, 5.0, 1e3, nan]),
    Op("silu", lambda x: x / (1 + np.exp(-x)), method=False, variant="complex", complex=True,
       unlike_torch="PyTorch has no gradient for complex numbers"),
    Op("softplus", softplus, method=False, kwargs=[{}, {"beta": 3.0}, {"threshold": 0.5}],
       at=[-1e3, 0.0, 1e3, nan], grad_options={"atol": 1e-4},
       raises=[((np.ones(2),), {"beta": -1.0}, ValueError, "beta must be positive")]),
]  # fmt: skip
