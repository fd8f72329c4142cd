"""Differences, integrals, quantiles, covariance, distances, and copies with a part replaced."""

import numpy as np
from numpy import nan
from scipy import integrate
from scipy.spatial import distance

from tests.ops.op import Op, Sample


def _distinct(rng, *shape):
    """Values that lie apart: no finite difference makes them change places."""
    n = int(np.prod(shape))
    return (rng.permutation(n) * (4.0 / max(n, 1)) - 1.9).reshape(shape)


def _diff(x, n=1, dim=-1, prepend=None, append=None):
    around = {k: v for k, v in {"prepend": prepend, "append": append}.items() if v is not None}
    return np.diff(x, n, dim, **around)


def _trapezoid(y, x=None, dx=1.0, dim=-1):
    return integrate.trapezoid(y, x, dx, dim)


def _cumulative(y, x=None, dx=1.0, dim=-1):
    return integrate.cumulative_trapezoid(y, x, dx, dim)


def _quantile(of):
    def reference(x, q, dim=None, keepdim=False, interpolation="linear"):
        return of(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return reference


def _quantiles(rng):
    return [
        Sample(_distinct(rng, 3, 5), 0.4),
        Sample(_distinct(rng, 3, 5), 0.3, dim=1),
        Sample(_distinct(rng, 3, 5), 0.3, dim=0, keepdim=True),
        Sample(_distinct(rng, 2, 7), np.array([0.0, 0.35, 1.0]), dim=-1),
        Sample(_distinct(rng, 2, 7), np.array([0.0, 0.35]), dim=0, keepdim=True),
        Sample(_distinct(rng, 2, 3), np.array([0.25, 0.8]), keepdim=True),
        Sample(_distinct(rng, 6), 0.33, interpolation="lower"),
        Sample(_distinct(rng, 6), 0.33, interpolation="higher"),
        Sample(_distinct(rng, 6), 0.33, interpolation="midpoint"),
        Sample(_distinct(rng, 6), 0.33, interpolation="nearest"),
        Sample(np.array(2.0), 0.5),
    ]


def _cov(x, correction=1, fweights=None, aweights=None):
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


def _histogram(x, bins, range=None, weight=None, density=False):
    counts, edges = np.histogram(x, bins, range, weights=weight, density=density)
    return counts.astype(x.dtype), edges.astype(x.dtype)


def _cdist(x, y, p=2.0):
    return np.linalg.norm(x[..., :, None, :] - y[..., None, :, :], p, axis=-1)


def _pdist(x, p=2.0):
    return distance.pdist(x, "minkowski", p=p)


def _replaced(place):
    def reference(x, src, *args, **kwargs):
        y = x.copy()
        place(y, *args, **kwargs)[...] = src
        return y

    return reference


def _diagonal(y, offset=0, dim1=0, dim2=1):
    view = np.diagonal(y, offset, dim1, dim2)
    view.flags.writeable = True
    return view


def _select(y, dim, index):
    return np.moveaxis(y, dim, 0)[index]


def _slice(y, dim=0, start=None, end=None, step=1):
    return np.moveaxis(np.moveaxis(y, dim, 0)[start:end:step], 0, dim)


def _n(rng, *shape):
    return rng.normal(size=shape)


def _as_strided_scatter(x, src, size, stride, storage_offset=0):
    y = x.copy()
    step = tuple(s * y.itemsize for s in stride)
    flat = y.reshape(-1)[storage_offset:]
    np.lib.stride_tricks.as_strided(flat, size, step)[...] = src
    return y


def _renorm(x, p, dim, maxnorm):
    others = tuple(d for d in range(x.ndim) if d != dim % x.ndim)
    size = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return x * np.where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


OPS: list[Op] = [
    Op("diff", _diff, dtypes="number",
       samples=lambda rng: [
           Sample(_n(rng, 5)),
           Sample(_n(rng, 3, 5), 2),
           Sample(_n(rng, 3, 5), n=1, dim=0),
           Sample(_n(rng, 2, 3), n=0),
           Sample(_n(rng, 2, 3), n=0, dim=1, prepend=_n(rng, 2, 1)),
           Sample(_n(rng, 2, 3), n=4),
           Sample(_n(rng, 2, 3), dim=1, prepend=_n(rng, 2, 1), append=_n(rng, 2, 2)),
       ],
       raises=[((np.array(1.0),), {}, ValueError, "at least one dimension"), ((np.ones(3), -1), {}, ValueError, "not be negative")]),
    Op("trapezoid", _trapezoid, method=False,
       samples=lambda rng: [
           Sample(_n(rng, 4)),
           Sample(_n(rng, 2, 4), dx=0.5),
           Sample(_n(rng, 4, 2), dim=0),
           Sample(_n(rng, 2, 4), np.sort(_n(rng, 4))),
           Sample(_n(rng, 2, 3), _n(rng, 2, 3), dim=0),
           Sample(_n(rng, 1)),
       ],
       raises=[((np.ones((2, 3)), np.ones(4)), {}, ValueError, "does not give a point")], complex=True),
    Op("trapz", _trapezoid, method=False, called="trapezoid",
       samples=lambda rng: [Sample(_n(rng, 2, 4), dx=0.5), Sample(_n(rng, 2, 3), _n(rng, 2, 3), dim=0)],
       complex=True),
    Op("cumulative_trapezoid", _cumulative, method=False,
       samples=lambda rng: [
           Sample(_n(rng, 4)), Sample(_n(rng, 2, 4), dx=0.5), Sample(_n(rng, 4, 2), dim=0), Sample(_n(rng, 2, 4), np.sort(_n(rng, 4))),
       ], complex=True),
    Op("quantile", _quantile(np.quantile), dtypes="wide", samples=_quantiles, fixed=(1,),
       raises=[((np.ones(3), 1.5), {}, ValueError, r"must be in \[0, 1\]"), ((np.ones(0), 0.5), {}, ValueError, "is empty"),
               ((np.ones(3), 0.5), {"interpolation": "cubic"}, ValueError, "interpolation must be")]),
    Op("nanquantile", _quantile(np.nanquantile), dtypes="wide", samples=_quantiles, fixed=(1,)),
    Op("nanquantile", _quantile(np.nanquantile), dtypes="wide", fixed=(1,), variant="nan", layouts=False,
       samples=lambda rng: [
           Sample(np.array([[1.0, nan, 3.0, 2.0], [nan, nan, 5.0, 4.0]]), 0.5, dim=1),
           Sample(np.array([1.0, nan, 3.0]), np.array([0.0, 0.5, 1.0])),
       ]),
    Op("cov", _cov, rtol=1e-8,
       samples=lambda rng: [
           Sample(_n(rng, 3, 5)), Sample(_n(rng, 6)), Sample(_n(rng, 1, 6)), Sample(_n(rng, 2, 4), correction=0),
           Sample(_n(rng, 2, 4), fweights=np.array([1, 2, 1, 3])),
           Sample(_n(rng, 2, 4), aweights=np.array([0.5, 1.0, 2.0, 1.5])),
           Sample(_n(rng, 2, 4), fweights=np.array([1, 2, 1, 3]), aweights=np.array([0.5, 1.0, 2.0, 1.5])),
       ],
       rtol32=1e-4,
       raises=[((np.ones((2, 2, 2)),), {}, ValueError, "at most two dimensions"),
               ((np.ones((2, 3)),), {"aweights": np.ones(2)}, ValueError, "one weight for each")]),
    Op("cov", _cov, rtol=1e-8, rtol32=1e-4, variant="complex", complex=True, samples=lambda rng: [Sample(_n(rng, 3, 5)), Sample(_n(rng, 6))]),
    Op("corrcoef", np.corrcoef, rtol=1e-8, rtol32=1e-4, dtypes="wide", samples=lambda rng: [Sample(_n(rng, 3, 6)), Sample(_n(rng, 2, 5))],
       layouts=False, grad_options={"atol": 1e-4}),
    Op("histogram", _histogram, grad=False,
       samples=lambda rng: [
           Sample(_n(rng, 30), 5),
           Sample(_n(rng, 4, 5), 3, range=(-1.0, 1.0)),
           Sample(_n(rng, 20), np.array([-1.0, 0.0, 0.25, 2.0])),
           Sample(_n(rng, 20), 4, density=True),
           Sample(_n(rng, 20), 4, weight=rng.uniform(0, 1, 20)),
           Sample(np.array([1.0, 1.0]), 2),
       ],
       raises=[((np.ones(3), 0), {}, ValueError, "bins must be positive")]),
    Op("dist", lambda x, y, p=2.0: np.linalg.norm((x - y).ravel(), p), samples=lambda rng: [
        Sample(_n(rng, 2, 3), _n(rng, 2, 3)), Sample(_n(rng, 2, 3), _n(rng, 3), 1.0), Sample(_n(rng, 4), _n(rng, 4), 3.0)],
       complex=True),
    Op("cdist", _cdist, method=False, samples=lambda rng: [
        Sample(_n(rng, 3, 2), _n(rng, 4, 2)), Sample(_n(rng, 2, 3, 2), _n(rng, 2, 1, 2)), Sample(_n(rng, 3, 2), _n(rng, 2, 2), 1.0),
        Sample(_n(rng, 3, 2), _n(rng, 2, 2), 3.0), Sample(np.zeros((0, 2)), _n(rng, 2, 2)), Sample(_n(rng, 3, 2), _n(rng, 2, 2), p=np.inf)],
       raises=[((np.ones((2, 3)), np.ones((2, 4))), {}, ValueError, "coordinates"), ((np.ones(3), np.ones((2, 3))), {}, ValueError, "two dimensions")]),
    Op("cdist", lambda x, y, p=2.0, compute_mode=None: _cdist(x, y, p), method=False, variant="product", rtol=1e-8, rtol32=2e-3,
       samples=lambda rng: [
           Sample(_n(rng, 3, 2), _n(rng, 4, 2), compute_mode="use_mm_for_euclid_dist"),
           Sample(_n(rng, 26, 2), _n(rng, 1, 2)), Sample(_n(rng, 2, 2), _n(rng, 2, 26, 2)),
           Sample(_n(rng, 26, 2), _n(rng, 2, 2), compute_mode="donot_use_mm_for_euclid_dist"),
           Sample(_n(rng, 2, 1, 3, 2), _n(rng, 2, 3, 2), 2.0, "use_mm_for_euclid_dist"),
           Sample(_n(rng, 0, 2), _n(rng, 30, 2)),
       ],
       raises=[((np.ones((2, 3)), np.ones((2, 3))), {"compute_mode": "mm"}, ValueError, "compute_mode must be")]),
    Op("pdist", _pdist, method=False, samples=lambda rng: [Sample(_n(rng, 4, 3)), Sample(_n(rng, 3, 2), 1.0), Sample(_n(rng, 3, 2), 3.0)],
       raises=[((np.ones(3),), {}, ValueError, "must be a matrix")]),
    Op("as_strided_scatter", _as_strided_scatter, dtypes="all", layouts=False, samples=lambda rng: [
        Sample(rng.normal(size=(3, 3)), rng.normal(size=(2, 2)), (2, 2), (1, 2)),
        Sample(rng.normal(size=(2, 3)), rng.normal(size=3), (3,), (2,), 1),
        Sample(rng.normal(size=4), rng.normal(size=()), (), (), 2),
        Sample(rng.normal(size=(2, 2)), rng.normal(size=(0, 2)), (0, 2), (1, 1))],
       raises=[((np.ones(4), np.ones(2), (3,), (1,)), {}, ValueError, r"\(3,\), got \(2,\)")],
       unlike_torch="its gradient of input is that of the elements that src replaces"),
    Op("renorm", _renorm, inplace=True, samples=lambda rng: [
        Sample(rng.normal(size=(3, 4)), 2, 0, 1.5), Sample(rng.normal(size=(3, 4)), 1, 1, 2.0),
        Sample(rng.normal(size=(2, 3, 2)), 3, -1, 1.0), Sample(rng.normal(size=(0, 3)), 2, 1, 1.0)],
       rtol=1e-6, rtol32=1e-5,
       raises=[((np.ones(3), 2, 0, 1.0), {}, ValueError, "at least 2 dimensions"),
               ((np.ones((2, 2)), 0, 0, 1.0), {}, ValueError, "p must be positive"),
               ((np.ones((2, 2)), 2, 0, -1.0), {}, ValueError, "must not be negative")], complex=True),
    Op("select_scatter", _replaced(_select), dtypes="all", samples=lambda rng: [
        Sample(_n(rng, 3, 4), _n(rng, 4), 0, 1), Sample(_n(rng, 3, 4), _n(rng, 3), 1, -1)],
       raises=[((np.ones((2, 3)), np.ones(2), 0, 0), {}, ValueError, "src must have the shape")]),
    Op("slice_scatter", _replaced(_slice), dtypes="all", samples=lambda rng: [
        Sample(_n(rng, 5, 2), _n(rng, 2, 2), start=1, end=3), Sample(_n(rng, 2, 5), _n(rng, 2, 3), 1, 0, 5, 2), Sample(_n(rng, 3), _n(rng, 3))],
       raises=[((np.ones(4), np.ones(1)), {"end": 2}, ValueError, "src must have the shape")]),
    Op("diagonal_scatter", _replaced(_diagonal), dtypes="all", samples=lambda rng: [
        Sample(_n(rng, 3, 3), _n(rng, 3)), Sample(_n(rng, 3, 4), _n(rng, 3), offset=1), Sample(_n(rng, 2, 3, 2), _n(rng, 3, 2), 0, 0, 2)]),
]  # fmt: skip
