"""Ops that take a dimension away."""

import numpy as np

from tests.ops.op import Op, Sample, axis, reductions


def _max_with_indices(
    x: np.ndarray, dim: int, keepdim: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    indices = np.argmax(x, axis=dim, keepdims=True)
    values = np.take_along_axis(x, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


OPS: list[Op] = [
    Op("sum", axis(np.sum), samples=reductions(), dtypes="all", result="sum",
       raises=[((np.ones((2, 3)),), {"dim": 5}, IndexError, "(?i)dim")]),
    Op("mean", axis(np.mean), samples=reductions(empty=False),
       raises=[((np.ones(2, np.int64),), {}, RuntimeError, "(?i)float")]),
    Op("argmax", lambda x, dim=None, keepdim=False: np.argmax(x, dim, keepdims=keepdim),
       samples=reductions(tuples=False, empty=False), dtypes="number", result="int64", grad=False),
    # several outputs: the second is not differentiable
    Op("max", _max_with_indices, variant="dim", dtypes="number",
       samples=lambda rng: [
           Sample(rng.normal(size=(3, 4)), dim=1),
           Sample(rng.normal(size=(2, 3, 2)), dim=0, keepdim=True),
           Sample(rng.normal(size=(0, 3)), dim=1),
       ]),
]  # fmt: skip
