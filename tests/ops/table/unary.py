"""Functions of one real number."""

import numpy as np
from numpy import inf, nan
from scipy import special

from tests.ops.op import Op, Sample

BIG = [-inf, -1000.0, -1.0, -0.0, 0.0, 1.0, 1000.0, inf, nan]
POSITIVE = [0.0, -0.0, 1e-30, 0.5, 1.0, 1e30, inf, -1.0, nan]
UNIT = [-1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, nan]


def function(name, ref, **options):
    """A floating function of one number, with an in-place form."""
    return Op(name, ref, dtypes="all", result="float", inplace=True, **options)


OPS: list[Op] = [
    function("exp", np.exp, at=[*BIG, -87.0, 88.0], complex=True),
    function("exp2", np.exp2, at=BIG, complex=True),
    function("expm1", np.expm1, at=[*BIG, 1e-20], complex=True),
    function("log", np.log, low=0.1, high=3.0, at=POSITIVE, complex=True),
    function("log2", np.log2, low=0.1, high=3.0, at=POSITIVE, complex=True),
    function("log10", np.log10, low=0.1, high=3.0, at=POSITIVE, complex=True),
    function("log1p", np.log1p, low=-0.9, high=3.0, at=[-1.0, -0.0, 1e-20, 1e30, inf, -2.0, nan], complex=True),
    function("sqrt", np.sqrt, low=0.1, high=3.0, at=POSITIVE, complex=True),
    function("rsqrt", lambda x: 1 / np.sqrt(x), low=0.1, high=3.0, at=POSITIVE, complex=True),
    function("sin", np.sin, at=[-0.0, 0.0, np.pi, 1e5, 1e8, 1e30, inf, -inf, nan], complex=True),
    function("cos", np.cos, at=[-0.0, 0.0, np.pi, 1e5, 1e8, 1e30, inf, -inf, nan], complex=True),
    function("tan", np.tan, low=-1.0, high=1.0, at=[-0.0, 0.0, 1e5, 1e8, inf, nan], complex=True),
    function("asin", np.arcsin, low=-0.9, high=0.9, at=UNIT, complex=True),
    function("acos", np.arccos, low=-0.9, high=0.9, at=UNIT, complex=True),
    function("atan", np.arctan, at=BIG, complex=True),
    function("sinh", np.sinh, at=[*BIG, 88.0, 89.0, 1e-20], complex=True),
    function("cosh", np.cosh, at=[*BIG, 88.0, 89.0], complex=True),
    function("tanh", np.tanh, at=[*BIG, 1e-20, 9.0], complex=True),
    function("asinh", np.arcsinh, at=[*BIG, 1e-20, 1e30], complex=True),
    function("acosh", np.arccosh, low=1.2, high=4.0, at=[1.0, 0.5, 1e30, inf, nan], complex=True),
    function("atanh", np.arctanh, low=-0.9, high=0.9, at=UNIT, complex=True),
    function("arcsin", np.arcsin, low=-0.9, high=0.9),
    function("arccos", np.arccos, low=-0.9, high=0.9),
    function("arctan", np.arctan),
    function("arcsinh", np.arcsinh),
    function("arccosh", np.arccosh, low=1.2, high=4.0),
    function("arctanh", np.arctanh, low=-0.9, high=0.9),
    function("erf", special.erf, at=BIG),
    function("erfc", special.erfc, at=[*BIG, 5.0, 9.0]),
    function("erfinv", special.erfinv, low=-0.9, high=0.9, at=UNIT),
    function("lgamma", special.gammaln, low=0.2, high=4.0, at=[0.0, 1.0, 2.0, -0.5, 1e30, inf, nan]),
    function("digamma", special.digamma, low=0.2, high=4.0, at=[1.0, -0.5, 1e30, inf, nan],
             grad_options={"rtol": 1e-3, "atol": 1e-4}),
    Op("polygamma", special.polygamma, method=False,
       samples=lambda rng: [Sample(n, rng.uniform(0.3, 4.0, (2, 3))) for n in (0, 1, 2, 3)],
       raises=[((-1, np.ones(2)), {}, ValueError, "n must be from 0")]),
    function("logit", lambda x, eps=None: special.logit(x if eps is None else np.clip(x, eps, 1 - eps)),
             low=0.05, high=0.95, kwargs=[{}, {"eps": 0.1}], at=[0.0, 1.0, 0.5, -1.0, 2.0, nan]),
    function("sinc", np.sinc, at=[0.0, -0.0, 0.5, 1e-20, nan]),
    function("deg2rad", np.deg2rad, at=BIG),
    function("rad2deg", np.rad2deg, at=BIG),
    function("sigmoid", lambda x: 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else special.expit(x),
             at=[*BIG, -88.0, -104.0], complex=True),
]  # fmt: skip
