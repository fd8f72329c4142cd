"""Affine maps of nn.functional."""

import numpy as np

from tests.ops.op import Op, Sample


def _bilinear(x1, x2, weight, bias=None):
    y = np.einsum("...i,oij,...j->...o", x1, weight, x2)
    return y if bias is None else y + bias


OPS: list[Op] = [
    Op("bilinear", _bilinear, method=False, dtypes="int", variant="integers", samples=lambda rng: [
        Sample(*(rng.integers(-2, 3, n).astype(float) for n in ((2, 2), (2, 3), (4, 2, 3), (4,)))),
    ]),
    Op("bilinear", _bilinear, method=False,
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 4)), rng.normal(size=(5, 3, 4)), rng.normal(size=5)),
           Sample(rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 2, 1)), rng.normal(size=(2, 3, 1))),
           Sample(rng.normal(size=3), rng.normal(size=2), rng.normal(size=(2, 3, 2)), rng.normal(size=2)),
           Sample(rng.normal(size=(0, 3)), rng.normal(size=(0, 2)), rng.normal(size=(2, 3, 2))),
       ],
       raises=[((np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 3))), {}, ValueError, "wants to be 3 and 3"),
               ((np.ones((2, 3)), np.ones((1, 4)), np.ones((5, 3, 4))), {}, ValueError, "must be equal"),
               ((np.ones((2, 3)), np.ones((2, 4)), np.ones((3, 4))), {}, ValueError, "must be .out, in1, in2.")]),
]  # fmt: skip
