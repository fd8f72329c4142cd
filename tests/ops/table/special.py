"""Functions of genesis.special that are not others under another name."""

import numpy as np
from scipy import special

from tests.ops.op import Op, Sample

inf, nan = float("inf"), float("nan")
LINE = {"method": False, "dtypes": "all", "result": "float"}


def _both(rng, *shapes):
    return [Sample(rng.uniform(1.5, 4, a), rng.uniform(0.5, 3, b)) for a, b in shapes]


def _chebyshev(kind):
    first = {"t": (0, 1), "u": (0, 2), "v": (-1, 2), "w": (1, 2)}[kind]

    def value(x, n):
        x, n = np.broadcast_arrays(np.asarray(x, float), np.trunc(n).astype(int))
        out = np.zeros(x.shape)
        for i in np.ndindex(x.shape):
            before, last = np.poly1d([1.0]), np.poly1d([float(first[1]), float(first[0])])
            polynomials = [before, last]
            for _ in range(2, n[i] + 1):
                polynomials.append(np.poly1d([2.0, 0.0]) * polynomials[-1] - polynomials[-2])
            out[i] = polynomials[n[i]](x[i]) if n[i] >= 0 else 0.0
        return out

    return value


def _shifted(f):
    return lambda x, n: f(2 * x - 1, n)


def _degrees(rng, low=-1.5, high=1.5):
    def x(*shape):
        return np.asarray(rng.uniform(low, high, shape))

    return [
        Sample(x(6), np.arange(-1, 5)),
        Sample(x(2, 1), np.array([0, 3, 6])),
        Sample(x(), np.array(4)),
        Sample(x(0, 3), np.array([1, 2, 3])),
        Sample(x(3), 5),
        Sample(x(2, 3), np.array(2.7)),
    ]


def _whole(f):
    """SciPy's, of the integer part of n; 0 where it is negative."""
    return lambda x, n: np.where(np.trunc(n) < 0, 0.0, f(np.trunc(n).astype(int), x))


POLYNOMIALS = {
    **{f"chebyshev_polynomial_{k}": _chebyshev(k) for k in "tuvw"},
    **{f"shifted_chebyshev_polynomial_{k}": _shifted(_chebyshev(k)) for k in "tuvw"},
    "hermite_polynomial_h": _whole(special.eval_hermite),
    "hermite_polynomial_he": _whole(special.eval_hermitenorm),
    "laguerre_polynomial_l": _whole(special.eval_laguerre),
    "legendre_polynomial_p": _whole(special.eval_legendre),
}
NO_TORCH_GRAD = {"unlike_torch": "its result has no gradient; values are in test_special.py"}
POSITIVE = {**LINE, **NO_TORCH_GRAD, "low": 0.5, "high": 4.0}
EVERYWHERE = {**LINE, **NO_TORCH_GRAD, "low": -4.0, "high": 4.0}

GAMMA = [("igamma", special.gammainc), ("igammac", special.gammaincc)]

OPS: list[Op] = [
    Op("special.bessel_j0", special.j0, **EVERYWHERE, at=[0.0, -25.0, 1e-9, 300.0, inf, nan]),
    Op("special.bessel_j1", special.j1, **EVERYWHERE, at=[0.0, -25.0, 1e-9, 300.0, -inf, nan]),
    Op("special.bessel_y0", special.y0, **POSITIVE, at=[0.0, 1e-9, 1.0, 25.0, 300.0, -1.0, inf, nan]),
    Op("special.bessel_y1", special.y1, **POSITIVE, at=[0.0, 1e-9, 1.0, 25.0, 300.0, -1.0, inf, nan]),
    Op("special.modified_bessel_i0", special.i0, **EVERYWHERE, at=[0.0, -0.5, 19.99, 20.01, 80.0, nan]),
    Op("special.modified_bessel_i1", special.i1, **EVERYWHERE, at=[0.0, -0.5, 19.99, 20.01, 80.0, nan]),
    *(Op(f"special.{name}", reference, **POSITIVE, at=[0.0, 1e-9, 1.0, 1.999, 2.001, 5.0, 100.0, -1.0, inf, nan])
      for name, reference in [
          ("modified_bessel_k0", special.k0), ("modified_bessel_k1", special.k1),
          ("scaled_modified_bessel_k0", special.k0e), ("scaled_modified_bessel_k1", special.k1e)]),
    Op("special.spherical_bessel_j0", lambda x: special.spherical_jn(0, x), **EVERYWHERE,
       at=[0.0, 1e-9, 0.5, -0.51, 30.0, inf, -inf, nan]),
    Op("special.airy_ai", lambda x: special.airy(x)[0], **EVERYWHERE,
       at=[0.0, -1.5, 2.5, 5.0, -9.9, -10.4, -10.6, -25.0, 10.4, 10.6, 20.0, 100.0, inf, nan]),
    *(Op(f"special.{name}", reference, method=False, dtypes="wide", fixed=(1,), samples=_degrees,
         unlike_torch="its result has no gradient; values are in test_special.py", rtol32=1e-4,
         raises=[((2.0, 3), {}, TypeError, "must be a Tensor"),
                 ((np.ones(2), np.ones(3)), {}, ValueError, r"\(2,\).*\(3,\)")])
      for name, reference in POLYNOMIALS.items()),
    Op("i0", special.i0, dtypes="all", result="float", inplace=True, low=-4.0, high=4.0,
       at=[0.0, -0.5, 19.99, 20.0, 20.01, 80.0, nan]),
    Op("special.i0e", special.i0e, **LINE, low=-4.0, high=4.0, at=[0.0, -19.99, 20.0, 20.01, -700.0, 1e10, inf, nan]),
    Op("special.i1", special.i1, **LINE, low=-4.0, high=4.0, at=[0.0, -0.0, 1e-9, -19.99, 20.0, 20.01, -80.0, nan]),
    Op("special.i1e", special.i1e, **LINE, low=-4.0, high=4.0, at=[0.0, 1e-9, -19.99, 20.0, 20.01, -700.0, 1e10, inf, nan]),
    Op("special.erfcx", special.erfcx, **LINE, at=[-inf, -20.0, -5.0, 0.0, 9.99, 10.0, 26.0, 1e3, 1e10, inf, nan],
       rtol32=2e-5),
    Op("special.ndtr", special.ndtr, **LINE, at=[-inf, -20.0, 0.0, 1.0, inf, nan]),
    Op("special.log_ndtr", special.log_ndtr, **LINE, at=[-inf, -1e3, -30.0, -1.0, 0.0, 5.0, 20.0, inf, nan]),
    Op("special.ndtri", special.ndtri, method=False, low=0.02, high=0.98,
       at=[0.0, 1e-30, 1e-5, 0.0999, 0.1, 0.25, 0.5, 0.9, 0.9001, 1.0, -0.5, 1.5, nan]),
    Op("special.entr", special.entr, method=False, low=0.1, high=3.0, at=[-inf, -1.0, 0.0, 1e-300, 1.0, inf, nan]),
    Op("special.xlog1py", special.xlog1py, nin=2, scalar=True, **LINE, low=0.1, high=3.0,
       at=[(0.0, -1.0), (0.0, inf), (0.0, nan), (nan, 0.0), (2.0, -1.0), (1.0, 1e-20)],
       raises=[((1.0, 2.0), {}, TypeError, "must be a Tensor")]),
    Op("special.zeta", special.zeta, method=False, fixed=(0,), dtypes="wide", result="float64",
       samples=lambda rng: [*_both(rng, ((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((0,), (1,))), Sample(2.0, rng.uniform(1, 2, 3))],
       raises=[((2.0, 1.0), {}, TypeError, "must be a Tensor")]),
    *(Op(name, reference, fixed=(0,), dtypes="wide", result="float64", rtol=1e-12,
         samples=lambda rng: _both(rng, ((3,), (3,)), ((2, 1), (1, 3)), ((2,), (2,)), ((0,), (1,))),
         raises=[((np.ones(2), np.ones(3)), {}, ValueError, r"\(2,\).*\(3,\)")])
      for name, reference in GAMMA),
    *(Op(name + "_", reference, dtypes="wide", grad=False, rtol=1e-12, view=True, layouts=False,
         samples=lambda rng: _both(rng, ((3,), (3,)), ((2, 3), (1, 3)))) for name, reference in GAMMA),
]  # fmt: skip
