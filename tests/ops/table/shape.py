"""Ops that move elements or relabel them: views first, then those that copy."""

import numpy as np

from tests.ops.op import Op, Sample

OPS: list[Op] = [
    Op("reshape", np.reshape, view=True, dtypes="all", layouts=True,
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 6)), (3, 4)),
           Sample(rng.normal(size=(2, 6)), (-1,)),
           Sample(rng.normal(size=()), (1, 1)),
           Sample(rng.normal(size=(0, 3)), (3, 0)),
       ],
       raises=[((np.ones((2, 3)), (4,)), {}, ValueError, r"\(2, 3\).*\(4,\)")]),
    Op("expand", np.broadcast_to, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 1)), (2, 3)),
           Sample(rng.normal(size=()), (2, 2)),
           Sample(rng.normal(size=(1, 0)), (3, 0)),
       ]),
    Op("cat", lambda arrays, dim=0: np.concatenate(arrays, dim), dtypes="all", method=False,
       samples=lambda rng: [
           Sample([rng.normal(size=(2, 3)), rng.normal(size=(1, 3))]),
           Sample([rng.normal(size=(2, 1)), rng.normal(size=(2, 2))], dim=-1),
           Sample([rng.normal(size=(2, 0)), rng.normal(size=(2, 2))], 1),
       ]),
]  # fmt: skip
