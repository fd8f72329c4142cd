"""Operators that are made of others in Python."""

import numpy as np

from tests.ops.op import Op, Sample


def _x(rng, *shape):
    return np.asarray(rng.normal(size=shape))


def _gradient(x, spacing=1, dim=None, edge_order=1):
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    steps = [spacing] * len(dims) if isinstance(spacing, (int, float)) else list(spacing)
    made = np.gradient(x, *steps, axis=dims, edge_order=edge_order)
    return tuple(made) if len(dims) > 1 else (made,)


def _segment_reduce(data, reduce, lengths=None, offsets=None, axis=0, initial=None):
    if offsets is not None:
        lengths = np.diff(offsets)
    f = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}[reduce]
    ends = np.cumsum(lengths)
    parts = [data[end - n : end] for end, n in zip(ends, lengths, strict=True)]
    return np.stack([f(p, axis=0) for p in parts])


def _norm_except_dim(v, pow=2, dim=0):
    if dim == -1:
        return (np.abs(v) ** pow).sum() ** (1 / pow)
    others = tuple(d for d in range(v.ndim) if d != dim)
    return (np.abs(v) ** pow).sum(others, keepdims=True) ** (1 / pow)


OPS = [
    Op("gradient", _gradient, method=False, dtypes="wide",
       samples=lambda rng: [
           Sample(_x(rng, 4)), Sample(_x(rng, 3, 4)), Sample(_x(rng, 3, 4), dim=1, spacing=0.5),
           Sample(_x(rng, 4), edge_order=2), Sample(_x(rng, 3, 4), spacing=[0.5, 2.0], edge_order=2),
           Sample(_x(rng, 2, 5), dim=-1, spacing=[np.array([0.0, 1.0, 3.0, 4.5, 5.0])]),
           Sample(_x(rng, 5), spacing=[np.array([0.0, 1.0, 3.0, 4.5, 5.0])], edge_order=2),
       ],
       fixed=("spacing",),
       raises=[((np.ones(1),), {}, ValueError, "at least edge_order"),
               ((np.ones(3),), {"edge_order": 3}, ValueError, "edge_order must be 1 or 2"),
               ((np.ones((3, 3)),), {"spacing": [1.0]}, ValueError, "spacing has 1 elements"),
               ((np.ones(3),), {"dim": 1}, IndexError, "out of range")]),
    Op("segment_reduce", _segment_reduce, method=False, dtypes="wide",
       samples=lambda rng: [
           *(Sample(_x(rng, 6), reduce, lengths=np.array([1, 3, 2]))
             for reduce in ("sum", "mean", "max", "min", "prod")),
           Sample(_x(rng, 5, 2), "sum", lengths=np.array([2, 3])),
           Sample(_x(rng, 5, 2), "max", offsets=np.array([0, 4, 5])),
       ],
       unlike_torch="its gradient of offsets and second derivatives are not there",
       raises=[((np.ones(3), "median"), {"lengths": np.array([3])}, ValueError, "reduce must be"),
               ((np.ones(3), "sum"), {"lengths": np.array([2])}, ValueError, "add up to"),
               ((np.ones(3), "sum"), {}, ValueError, "lengths or offsets")]),
    Op("norm_except_dim", _norm_except_dim, method=False, dtypes="wide",
       samples=lambda rng: [Sample(_x(rng, 3, 4)), Sample(_x(rng, 2, 3, 2), 2, 1), Sample(_x(rng, 3, 2), 2, -1)]),
    Op("unravel_index", lambda i, shape: tuple(np.unravel_index(i, shape)), method=False, grad=False, dtypes="float",
       fixed=(0,), result="int64", layouts=False,
       samples=lambda rng: [Sample(np.array([0, 5, 3]), (2, 3)), Sample(np.array([[1], [2]]), (3,)),
                            Sample(np.array(7), (2, 2, 2)), Sample(np.zeros((0,), np.int64), (2, 2))],
       raises=[((np.ones(2), (2, 2)), {}, TypeError, "must be integers")]),
    Op("nonzero_static", lambda x, size, fill_value=-1: np.concatenate(
           [np.argwhere(x)[:size], np.full((max(0, size - len(np.argwhere(x))), x.ndim), fill_value)]),
       grad=False, result="int64",
       samples=lambda rng: [Sample(np.array([0.0, 2.0, 3.0]), size=4), Sample(np.eye(3), size=2),
                            Sample(np.zeros((0, 2)), size=2, fill_value=7)]),
]  # fmt: skip
