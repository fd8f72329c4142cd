"""Matrix products, decompositions, solvers."""

import operator

import numpy as np

from tests.ops.op import Op, Sample


def _pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    return lambda rng: [Sample(rng.normal(size=a), rng.normal(size=b)) for a, b in shapes]


OPS: list[Op] = [
    Op("matmul", np.matmul, dtypes="number", operator=operator.matmul,
       samples=_pairs(((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)),
                      ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((0, 3), (3, 2)),
                      ((2, 0), (0, 3))),
       raises=[((np.ones((2, 3)), np.ones((4, 5))), {}, ValueError, r"\(2, 3\).*\(4, 5\)"),
               ((np.ones(()), np.ones(2)), {}, ValueError, "matmul")]),
    Op("dot", np.dot, samples=_pairs(((4,), (4,)), ((0,), (0,)))),
]  # fmt: skip
