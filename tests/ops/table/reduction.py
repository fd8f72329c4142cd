"""Ops that take a dimension away."""

import numpy as np
from scipy import special

from tests.ops.op import Op, Sample, axis, reductions


def _x(rng, *shape):
    return np.asarray(rng.uniform(-2.0, 2.0, shape))


def _distinct(rng, *shape):
    """Values that lie apart: no finite difference makes them change places."""
    n = int(np.prod(shape))
    return (rng.permutation(n) * (4.0 / max(n, 1)) - 1.9).reshape(shape)


def _along(index_of):
    """values and indices along a dimension, from a function that finds the indices."""

    def reference(x, dim=-1, keepdim=False):
        if x.ndim == 0:
            return x, np.int64(0)
        indices = np.expand_dims(index_of(x, dim), dim)
        values = np.take_along_axis(x, indices, dim)
        return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))

    return reference


def _median_index(x, dim):
    return np.take(np.argsort(x, axis=dim, kind="stable"), (x.shape[dim] - 1) // 2, axis=dim)


def _mode_index(x, dim):
    def one(line):
        values, counts = np.unique(line, return_counts=True)
        return np.flatnonzero(line == values[np.argmax(counts)])[-1]

    if x.size == 0:
        return np.zeros(np.delete(x.shape, dim), np.int64)
    return np.apply_along_axis(one, dim, x).astype(np.int64)


def _by_index(rng):
    return [
        Sample(_distinct(rng, 3, 4), dim=1),
        Sample(_distinct(rng, 2, 3, 2), dim=0, keepdim=True),
        Sample(_distinct(rng, 2, 3, 2), dim=-2),
        Sample(_distinct(rng, 5), dim=0),
        Sample(np.array(0.5), dim=0),
        Sample(_distinct(rng, 4, 1), dim=1),
        Sample(np.zeros((0, 3)), dim=1),
    ]


def _whole(rng):
    return [
        Sample(_distinct(rng, 3, 4)),
        Sample(_distinct(rng, 5)),
        Sample(np.array(0.5)),
        Sample(_distinct(rng, 2, 1, 3)),
    ]


def _moments(rng):
    return [
        Sample(_x(rng, 3, 4)),
        Sample(_x(rng, 3, 4), dim=0),
        Sample(_x(rng, 3, 4), dim=-1, keepdim=True),
        Sample(_x(rng, 2, 3, 2), dim=(0, 2)),
        Sample(_x(rng, 2, 3, 2), dim=1, unbiased=False),
        Sample(_x(rng, 4, 1), dim=1, correction=0),
        Sample(_x(rng, 4, 2), dim=0, correction=2),
        Sample(_x(rng, 5), 0, False, True),
        Sample(_x(rng, 5), False),
    ]


def _moment(function):
    def reference(x, dim=None, unbiased=True, keepdim=False, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = int(unbiased) if correction is None else correction
        return function(x, axis=dim, ddof=ddof, keepdims=keepdim)

    return reference


def _mean(x, axis, ddof, keepdims):
    return np.mean(x, axis=axis, keepdims=keepdims)


def _both(one, two):
    return lambda *args, **kwargs: (one(*args, **kwargs), two(*args, **kwargs))


def _norm(x, p=2, dim=None, keepdim=False):
    a = np.abs(x)
    p = 2 if p == "fro" else p
    if p == 0:
        return (a != 0).sum(axis=dim, keepdims=keepdim).astype(np.float64)
    if p == np.inf:
        return a.max(axis=dim, keepdims=keepdim)
    if p == -np.inf:
        return a.min(axis=dim, keepdims=keepdim)
    return (a**p).sum(axis=dim, keepdims=keepdim) ** (1 / p)


def _norms(rng):
    x = _distinct(rng, 3, 4) + 0.01
    made = [Sample(x, p) for p in (2, 1, 0, np.inf, -np.inf, 3, 1.5, -1.0, 0.5)]
    made += [
        Sample(x, "fro", 0),
        Sample(x, 1, -1, True),
        Sample(_distinct(rng, 2, 3, 2), 3.0, (0, 2)),
        Sample(_distinct(rng, 2, 3, 2), np.inf, 1),
        Sample(np.array(-0.5), 2),
        Sample(np.zeros((0, 3)), 2, 0),
        Sample(np.zeros((0, 3)), 3, 1),
    ]
    return made


def _logsumexp(x, dim, keepdim=False):
    if np.size(x) == 0:
        with np.errstate(divide="ignore"):
            return np.log(np.exp(x).sum(axis=dim, keepdims=keepdim))
    return special.logsumexp(x, axis=dim, keepdims=keepdim)


DIM = [((np.ones((2, 3)),), {"dim": 5}, IndexError, "dim 5")]
TWICE = [((np.ones((2, 3)),), {"dim": (0, -2)}, ValueError, "twice")]
EMPTY = [
    ((np.ones((2, 0)),), {"dim": 1}, (IndexError, ValueError), "(?i)empty"),
    ((np.ones((2, 0)),), {}, (IndexError, ValueError), "(?i)empty"),
]
INTEGER = [((np.ones(2, np.int64),), {}, TypeError, "float")]
BOTH = [((np.ones(3),), {"unbiased": True, "correction": 0}, ValueError, "not both")]


def _sum_to_size(x, *size):
    size = size[0] if size and isinstance(size[0], tuple) else size
    more = x.ndim - len(size)
    summed = (*range(more), *(more + d for d, n in enumerate(size) if n == 1))
    return x.sum(summed, keepdims=True).reshape(size)


OPS: list[Op] = [
    # --- sums
    Op("sum", axis(np.sum), samples=reductions(), dtypes="all", result="sum", raises=DIM + TWICE, complex=True),
    Op("sum", lambda x, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims),
       variant="axis",
       samples=lambda rng: [Sample(_x(rng, 2, 3), axis=1, keepdims=True),
                            Sample(_x(rng, 2, 3), axis=(0, 1))]),
    Op("mean", axis(np.mean), samples=reductions(empty=False), raises=INTEGER + DIM + TWICE, complex=True),
    Op("nansum", axis(np.nansum), samples=reductions(), dtypes="all", result="sum"),
    Op("nanmean", axis(np.nanmean), samples=reductions(empty=False), raises=INTEGER),
    Op("prod", axis(np.prod), samples=reductions(tuples=False), dtypes="all", result="sum",
       raises=DIM + TWICE, complex=True),
    Op("prod", axis(np.prod), variant="dims", unlike_torch="which takes one dim only",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 2), dim=(0, 2)),
                            Sample(_x(rng, 2, 3, 2), dim=(-1, 0), keepdim=True),
                            Sample(np.zeros((2, 2, 2)), dim=(0, 2))]),
    Op("prod", axis(np.prod), variant="zeros",
       samples=lambda rng: [
           Sample(np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.5], [1.0, 2.0, 3.0]]), dim=1),
           Sample(np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.5], [1.0, 2.0, 3.0]]), dim=0),
           Sample(np.array([[2.0, 0.0], [0.5, 3.0]])),
       ]),
    # --- logic
    Op("any", axis(np.any), samples=reductions(), dtypes="all", grad=False,
       result=lambda dtype: "uint8" if dtype == "uint8" else "bool", raises=DIM),
    Op("all", axis(np.all), samples=reductions(), dtypes="all", grad=False,
       result=lambda dtype: "uint8" if dtype == "uint8" else "bool", raises=DIM),
    Op("count_nonzero", lambda x, dim=None: np.asarray(np.count_nonzero(x, axis=dim), np.int64),
       dtypes="all", result="int64", grad=False, raises=DIM,
       samples=lambda rng: [
           Sample(_x(rng, 2, 3) > 0), Sample(np.array([[0.0, 1.0], [np.nan, 0.0]])),
           Sample(rng.integers(0, 2, (3, 4)), dim=0),
           Sample(rng.integers(0, 2, (2, 3, 2)) * 1.0, dim=(0, 2)),
           Sample(np.zeros((0, 3)), dim=0),
       ]),
    Op("has_nan", lambda x: bool(np.isnan(x).any()), dtypes="all", grad=False,
       samples=lambda rng: [
           Sample(_x(rng, 2, 3)), Sample(np.array([1.0, np.nan])), Sample(np.array([np.inf])),
           Sample(np.zeros(0)), Sample(np.array(np.nan)),
       ]),
    Op("has_inf", lambda x: bool(np.isinf(x).any()), dtypes="all", grad=False,
       samples=lambda rng: [
           Sample(_x(rng, 2, 3)), Sample(np.array([1.0, -np.inf])), Sample(np.array([np.nan])),
           Sample(np.zeros(0)), Sample(np.array(np.inf)),
       ]),
    # --- moments
    Op("var", _moment(np.var), samples=_moments, raises=INTEGER + DIM + TWICE + BOTH, complex=True),
    Op("std", _moment(np.std), samples=_moments, raises=INTEGER + DIM + TWICE + BOTH, complex=True),
    Op("var_mean", _both(_moment(np.var), _moment(_mean)), samples=_moments, raises=INTEGER + DIM),
    Op("std_mean", _both(_moment(np.std), _moment(_mean)), samples=_moments, raises=INTEGER + DIM),
    # --- norms
    Op("norm", _norm, samples=_norms,
       raises=[*INTEGER, ((np.ones(2), "no"), {}, TypeError, "'fro'"),
               ((np.ones((0, 2)), np.inf), {}, ValueError, "no elements")]),
    Op("norm", lambda x, p, dim=(-2, -1), keepdim=False: np.linalg.norm(x, p, dim, keepdim), variant="nuclear", dtypes="wide",
       samples=lambda rng: [Sample(_x(rng, 3, 2), "nuc"), Sample(_x(rng, 2, 3, 4), "nuc", dim=(0, 2), keepdim=True)],
       raises=[((np.ones(2), "nuc"), {}, ValueError, "dim")]),
    Op("sum_to_size", _sum_to_size, samples=lambda rng: [
           Sample(_x(rng, 4, 3), 1, 3), Sample(_x(rng, 4, 3), (3,)), Sample(_x(rng, 2, 4, 3), (4, 1)), Sample(_x(rng, 2, 3), ()),
           Sample(_x(rng, 2, 3), 2, 3), Sample(_x(rng, 0, 3), 1, 3)],
       raises=[((np.ones((2, 3)), 2), {}, ValueError, "do not broadcast"),
               ((np.ones(3), 1, 1, 3), {}, ValueError, "does not broadcast")]),
    Op("vector_norm", lambda x, ord=2, dim=None, keepdim=False: _norm(x, ord, dim, keepdim),
       samples=_norms, method=False),
    Op("logsumexp", _logsumexp, dtypes="all", result="float",
       samples=lambda rng: [
           Sample(_x(rng, 2, 3), dim=1), Sample(_x(rng, 3, 4), dim=0),
           Sample(_x(rng, 2, 3, 2), dim=(0, 2), keepdim=True), Sample(_x(rng), dim=0),
           Sample(_x(rng, 2, 3) * 400, dim=-1), Sample(np.zeros((0, 3)), dim=1),
           Sample(np.zeros((2, 0)), dim=1),
       ]),
    Op("logsumexp", lambda x, dim, keepdim=False: np.log(np.exp(x).sum(dim, keepdims=keepdim)),
       variant="complex", complex=True,
       samples=lambda rng: [Sample(_x(rng, 2, 3), dim=1), Sample(_x(rng, 2, 3, 2), dim=(0, 2), keepdim=True)]),
    # --- largest and smallest
    Op("amax", axis(np.max), samples=reductions(empty=False), dtypes="all",
       raises=DIM + TWICE + EMPTY),
    Op("amin", axis(np.min), samples=reductions(empty=False), dtypes="all",
       raises=DIM + TWICE + EMPTY),
    Op("aminmax", _both(axis(np.min), axis(np.max)), dtypes="all", raises=EMPTY,
       samples=lambda rng: [*_whole(rng), Sample(_distinct(rng, 3, 4), dim=1),
                            Sample(_distinct(rng, 3, 4), dim=0, keepdim=True)]),
    Op("argmax", lambda x, dim=None, keepdim=False: np.argmax(x, dim, keepdims=keepdim),
       samples=reductions(tuples=False, empty=False), dtypes="all", result="int64", grad=False,
       raises=DIM + EMPTY),
    Op("argmin", lambda x, dim=None, keepdim=False: np.argmin(x, dim, keepdims=keepdim),
       samples=reductions(tuples=False, empty=False), dtypes="all", result="int64", grad=False,
       raises=DIM + EMPTY),
    # several outputs: the second is not differentiable
    Op("max", _along(lambda x, dim: np.argmax(x, axis=dim)), variant="dim", dtypes="all",
       samples=_by_index, raises=DIM + EMPTY),
    Op("min", _along(lambda x, dim: np.argmin(x, axis=dim)), variant="dim", dtypes="all",
       samples=_by_index, raises=DIM + EMPTY),
    Op("max", np.max, samples=_whole, dtypes="all"),
    Op("min", np.min, samples=_whole, dtypes="all"),
    Op("max", np.maximum, variant="of two", dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3), _x(rng, 3)), Sample(_x(rng, 2), _x(rng, 2))]),
    Op("min", np.minimum, variant="of two", dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3), _x(rng, 3)), Sample(_x(rng, 2), _x(rng, 2))]),
    Op("max", lambda x, axis=None, keepdims=False: np.max(x, axis=axis, keepdims=keepdims),
       variant="axis", unlike_torch="values only, as NumPy",
       samples=lambda rng: [Sample(_distinct(rng, 3, 4), axis=1),
                            Sample(_distinct(rng, 2, 3, 2), axis=(0, 2), keepdims=True)]),
    Op("min", lambda x, axis=None, keepdims=False: np.min(x, axis=axis, keepdims=keepdims),
       variant="axis", unlike_torch="values only, as NumPy",
       samples=lambda rng: [Sample(_distinct(rng, 3, 4), axis=1),
                            Sample(_distinct(rng, 2, 3, 2), axis=(0, 2), keepdims=True)]),
    # --- by rank
    Op("median", _along(_median_index), variant="dim", samples=_by_index, dtypes="number",
       raises=DIM),
    Op("median", lambda x: np.sort(x, axis=None)[(x.size - 1) // 2], samples=_whole,
       dtypes="number"),
    Op("nanmedian", _along(_median_index), variant="dim", samples=_by_index, dtypes="number"),
    Op("nanmedian", lambda x: np.sort(x, axis=None)[(x.size - 1) // 2], samples=_whole,
       dtypes="number"),
    Op("mode", _along(_mode_index), samples=_by_index, dtypes="number"),
    Op("mode", _along(_mode_index), variant="repeated", dtypes="int",
       samples=lambda rng: [Sample(rng.integers(-2, 2, (3, 9)) * 1.0, dim=1),
                            Sample(rng.integers(-2, 2, (9, 3)) * 1.0, 0, True),
                            Sample(rng.integers(-2, 2, (2, 7)) * 1.0)]),
]  # fmt: skip
