"""Functions of genesis.special that are not others under another name."""

import numpy as np
from scipy import special

from tests.ops.op import Op, Sample

inf, nan = float("inf"), float("nan")
LINE = {"method": False, "dtypes": "all", "result": "float"}


def _both(rng, *shapes):
    return [Sample(rng.uniform(1.5, 4, a), rng.uniform(0.5, 3, b)) for a, b in shapes]


GAMMA = [("igamma", special.gammainc), ("igammac", special.gammaincc)]

OPS: list[Op] = [
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
