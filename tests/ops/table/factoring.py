"""Triangles of LU, least squares, ranks and condition numbers."""

import itertools

import numpy as np
import scipy.linalg
import scipy.special

from tests.ops.op import Op, Sample
from tests.ops.table.linalg import (
    _ANY,
    _inf,
    _matrices,
    _of_symmetric,
    _outer,
    _pinv,
    _regular,
    _x,
)


def _each(f):
    """A function of one matrix, of stacks; outputs are stacked."""

    def stacked(a, *args):
        parts = [f(a[i], *(x[i] for x in args)) for i in np.ndindex(a.shape[:-2])]
        if not parts:
            parts = [f(np.ones(a.shape[-2:]), *(np.ones(x.shape[-2:]) for x in args))]
            return tuple(np.zeros((*a.shape[:-2], *y.shape)) for y in parts[0])
        return tuple(
            np.stack(y).reshape(*a.shape[:-2], *y[0].shape) for y in zip(*parts, strict=True)
        )

    return stacked


@_each
def _lu(a):
    m, n = a.shape
    k = min(m, n)
    if k == 0:
        return np.eye(m), np.zeros((m, 0)), np.zeros((0, n))
    return scipy.linalg.lu(a)


def _packed(a):
    """L and U in one matrix, and LAPACK's swaps, which are found again from P."""
    p, lower, upper = _lu(a)
    m, n = a.shape[-2:]
    both = np.zeros(a.shape)
    k = min(m, n)
    both[..., :, :k] += np.tril(lower, -1)
    both[..., :k, :] += upper
    pivots = np.zeros((*a.shape[:-2], k), np.int32)
    for i in np.ndindex(a.shape[:-2]):
        order, wanted = list(range(m)), p[i].argmax(0).tolist()
        for j in range(k):
            at = order.index(wanted[j])
            order[j], order[at] = order[at], order[j]
            pivots[(*i, j)] = at + 1
    return both, pivots


def _factors_of(rng, *shape):
    return _packed(_regular(_x(rng, *shape)))


def _unpacked(lu, pivots, *flags, **named):
    """P, L and U that lu_solve and lu_unpack mean."""
    m, k = lu.shape[-2], min(lu.shape[-2:])
    lower = np.tril(lu[..., :, :k], -1) + np.eye(m, k)
    p = np.zeros((*lu.shape[:-2], m, m))
    for i in np.ndindex(lu.shape[:-2]):
        order = list(range(m))
        for j in range(k):
            at = pivots[(*i, j)] - 1
            order[j], order[at] = order[at], order[j]
        p[i][order, range(m)] = 1
    return p, lower, np.triu(lu[..., :k, :])


def _lu_solve(lu, pivots, b, left=True, adjoint=False):
    p, lower, upper = _unpacked(lu, pivots)
    a = p @ lower @ upper
    a = np.swapaxes(a, -1, -2) if adjoint else a
    return np.linalg.inv(a) @ b if left else b @ np.linalg.inv(a)


def _solve_samples(rng):
    def case(shape, b, **kwargs):
        lu, pivots = _factors_of(rng, *shape)
        return Sample(lu, pivots, _x(rng, *b), **kwargs)

    return [
        case((3, 3), (3, 2)),
        case((3, 3), (3, 2), adjoint=True),
        case((2, 2, 2), (2, 2, 1)),
        case((2, 2), (3, 2), left=False),
        case((2, 2), (3, 2), left=False, adjoint=True),
        case((2, 1, 2, 2), (3, 2, 1)),
        case((2, 2), (2, 0)),
    ]


def _lstsq(a, b, rcond=None, driver=None):
    if b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]:
        return _pinv(a) @ b if a.ndim == 2 else (_pinv(a) @ b[..., None])[..., 0]
    return _pinv(a) @ b


def _first(f):
    return _outer(lambda a, *args, **kwargs: f(a, *args, **kwargs)[0])


def _vander(x, N=None, increasing=False):
    x = np.atleast_1d(x)
    n = x.shape[-1] if N is None else N
    powers = np.arange(n) if increasing else np.arange(n)[::-1]
    return x[..., None] ** powers


def _combinations(x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(x.tolist(), r))
    return np.array(rows, x.dtype).reshape(-1, r) if r else np.zeros(0, x.dtype)


_WIDE = {"dtypes": "wide", "method": False}
_MATRIX = np.ones((2, 2))
_PIVOTS = np.ones(2, np.int32)

OPS: list[Op] = [
    Op("linalg.lu", _outer(_lu), wrap=_outer, **_WIDE,
       samples=_matrices(*_ANY, (4, 2), (2, 4), (0, 3), (3, 0)),
       raises=[((_MATRIX,), {"pivot": False}, ValueError, "pivot must be True")]),
    Op("linalg.lu_factor", _outer(_packed), wrap=_outer, **_WIDE, samples=_matrices(*_ANY, (4, 2), (2, 4))),
    Op("linalg.lu_factor_ex", _outer(lambda a: (*_packed(a), np.zeros(a.shape[:-2], np.int32))), wrap=_outer, **_WIDE,
       samples=_matrices((3, 3), (2, 3, 2), (2, 4))),
    Op("linalg.lu_solve", _lu_solve, **_WIDE, samples=_solve_samples, layouts=False,
       raises=[((_MATRIX, _PIVOTS, np.ones(2)), {}, ValueError, "B must have at least 2 dimensions"),
               ((_MATRIX, np.ones(3, np.int32), _MATRIX), {}, ValueError, r"pivots must have shape \(2,\)"),
               ((_MATRIX, np.ones(2, np.int64), _MATRIX), {}, TypeError, "pivots must be int32"),
               ((_MATRIX, _PIVOTS + 7, _MATRIX), {}, ValueError, "pivots must be in 1..2"),
               ((_MATRIX, _PIVOTS, np.ones((3, 1))), {}, ValueError, "do not fit")]),
    Op("lu_unpack", _unpacked, **_WIDE,
       samples=lambda rng: [Sample(*_factors_of(rng, *s)) for s in ((3, 3), (2, 4, 2), (2, 2, 3))],
       raises=[((_MATRIX, np.ones(3, np.int32)), {}, ValueError, r"pivots must have shape \(2,\)")]),
    Op("linalg.lstsq", _outer(_lstsq), wrap=_first, **_WIDE, samples=lambda rng: [
        Sample(_x(rng, 3, 2), _x(rng, 3, 2)), Sample(_x(rng, 3, 2), _x(rng, 3)),
        Sample(_x(rng, 2, 2, 3), _x(rng, 2, 2, 1)), Sample(_x(rng, 2, 3, 2), _x(rng, 2, 3)),
        Sample(_x(rng, 3, 3), _x(rng, 3, 1), driver="gels"), Sample(_x(rng, 4, 2), _x(rng, 4, 1), driver="gelsd"),
        Sample(_x(rng, 4, 2), _x(rng, 4, 1), 1e-3, driver="gelss"),
    ], raises=[((_MATRIX, np.ones((3, 1))), {}, ValueError, "do not fit"),
               ((_MATRIX, _MATRIX.astype(np.float32)), {}, TypeError, "B is float32"),
               ((_MATRIX, _MATRIX), {"driver": "qr"}, ValueError, "driver must be")]),
    Op("linalg.lstsq", _outer(lambda a, b, driver: ((a @ _pinv(a) @ b - b) ** 2).sum(-2)), variant="residuals",
       wrap=lambda f: _outer(lambda a, b, driver: f(a, b, driver=driver)[1]), **_WIDE, rtol32=1e-3,
       unlike_torch="its gradient by B is that of the solution only", samples=lambda rng: [
           Sample(_x(rng, 3, 2), _x(rng, 3, 2), driver=driver) for driver in ("gels", "gelsd", "gelss")]),
    Op("linalg.matrix_rank", lambda a, **kwargs: np.linalg.matrix_rank(a) if a.size else np.zeros(a.shape[:-2], int),
       **_WIDE, grad=False, result="int64", samples=_matrices((3, 3), (2, 3, 2), (2, 1, 2, 3), (0, 2, 2), (0, 3), (2, 0, 0)),
       raises=[((_MATRIX, 0.1), {"atol": 0.2}, ValueError, "pass tol, or atol and rtol, not both"),
               ((_MATRIX,), {"atol": -1.0}, ValueError, "must not be negative"),
               ((np.ones((2, 3)),), {"hermitian": True}, ValueError, "must be square")]),
    Op("linalg.matrix_rank", _of_symmetric(lambda a, hermitian: np.linalg.matrix_rank(a, hermitian=True)),
       variant="hermitian", wrap=_of_symmetric, **_WIDE, grad=False, result="int64",
       samples=_matrices((3, 3), (2, 2, 2), hermitian=True)),
    Op("linalg.pinv", _of_symmetric(lambda a, hermitian: np.linalg.pinv(a, hermitian=True)), variant="hermitian",
       wrap=_of_symmetric, **_WIDE, samples=_matrices((3, 3), (2, 2, 2), hermitian=True),
       raises=[((_MATRIX, 0.1), {"rtol": 0.2}, ValueError, "pass rcond, or atol and rtol, not both")]),
    Op("pinverse", _outer(_pinv), wrap=_outer, dtypes="wide", samples=_matrices(*_ANY)),
    Op("linalg.cond", _outer(lambda a, p=None: np.linalg.cond(a, p)), wrap=_outer, **_WIDE, rtol32=1e-4,
       samples=lambda rng: [Sample(_x(rng, 3, 3)), Sample(_x(rng, 3, 3), "nuc"), Sample(_x(rng, 3, 3), 2),
                            Sample(_x(rng, 3, 3), -2), Sample(_x(rng, 2, 3, 2)), Sample(_x(rng, 2, 3), -2)],
       raises=[((np.ones((2, 3)), 1), {}, ValueError, "must be square"),
               ((_MATRIX, 3), {}, ValueError, "p must be None"),
               ((_MATRIX, "max"), {}, ValueError, "'max'")]),
    Op("linalg.cond", _outer(lambda a, p: np.linalg.cond(a, p)), wrap=_outer, **_WIDE, rtol32=1e-4, variant="inverse",
       unlike_torch="its backward pass fails", samples=lambda rng: [
           *(Sample(_x(rng, 3, 3), p) for p in ("fro", 1, -1, _inf, -_inf)), Sample(_x(rng, 2, 2, 2), 1)]),
    Op("vander", _vander, method=False, dtypes="number", result="sum", unlike_torch="its backward pass fails", samples=lambda rng: [
        Sample(_x(rng, 3)), Sample(_x(rng, 3), 4), Sample(_x(rng, 2), 3, True), Sample(_x(rng, 2), N=1),
        Sample(_x(rng, 2), 0), Sample(np.array([0.0, 2.0]), 4), Sample(_x(rng, 0), 2)],
       raises=[((_MATRIX,), {}, ValueError, "one dimension"), ((np.ones(2), -1), {}, ValueError, "N must not be negative")]),
    Op("linalg.vander", lambda x, N=None: _vander(x, N, True), method=False, dtypes="number", result="sum",
       samples=lambda rng: [Sample(_x(rng, 3)), Sample(_x(rng, 2, 3), N=2), Sample(np.array([0.0, 2.0]), N=4), Sample(np.array(1.5), N=3)],
       raises=[((np.ones(3),), {"N": 1}, ValueError, "greater than 1"), ((np.array(1.0),), {}, ValueError, "greater than 1")]),
    Op("combinations", _combinations, method=False, dtypes="all", samples=lambda rng: [
        Sample(_x(rng, 4)), Sample(_x(rng, 4), 3), Sample(_x(rng, 3), r=3, with_replacement=True), Sample(_x(rng, 3), 1),
        Sample(_x(rng, 3), 3), Sample(_x(rng, 3), 4), Sample(_x(rng, 3), 4, True), Sample(_x(rng, 0), 2),
        Sample(_x(rng, 0), 2, True)],
       raises=[((_MATRIX,), {}, ValueError, "one dimension"), ((np.ones(2), -1), {}, ValueError, "must not be negative")]),
    Op("combinations", _combinations, method=False, dtypes="all", grad=False, variant="none",
       samples=lambda rng: [Sample(_x(rng, 3), 0)]),
    Op("frexp", np.frexp,
       low=1.1, high=1.9, raises=[((np.ones(2, int),), {}, TypeError, "must be floating")]),
    Op("nextafter", np.nextafter, nin=2, grad=False, inplace=True,
       at=[(0.0, 1.0), (0.0, -1.0), (-0.0, 0.0), (1.0, np.nan), (np.nan, 1.0), (-1.0, 1.0)],
       raises=[((np.ones(2, int), np.ones(2, int)), {}, TypeError, "must be floating")]),
    Op("mvlgamma", lambda x, p: np.asarray(scipy.special.multigammaln(x[..., None], 1) if False else sum(
        scipy.special.gammaln(x - j / 2) for j in range(p)) + p * (p - 1) / 4 * np.log(np.pi)),
       low=2.5, high=6.0, kwargs=[{"p": 3}, {"p": 1}], dtypes="number", result="float", inplace=True, rtol32=1e-4,
       raises=[((np.ones(2), 0), {}, ValueError, "p must be from 1 to"),
               ((np.ones(2, bool), 1), {}, TypeError, "got bool")]),
    Op("resize_", lambda x, *size: x.reshape(-1)[: int(np.prod(size))].reshape(np.ravel(size).astype(int)), grad=False, dtypes="all", layouts=False, view=True,
       samples=lambda rng: [Sample(_x(rng, 2, 3), 3, 2), Sample(_x(rng, 2, 3), 4), Sample(_x(rng, 4), 2, 0), Sample(_x(rng, 3), ())],
       raises=[((np.ones(3), -1), {}, ValueError, "must not be negative")]),
    Op("resize_as_", lambda x, y: x.reshape(-1)[: y.size].reshape(y.shape), grad=False, dtypes="all", layouts=False, view=True,
       samples=lambda rng: [Sample(_x(rng, 2, 3), _x(rng, 3, 2)), Sample(_x(rng, 2, 3), _x(rng, 4)), Sample(_x(rng, 3), _x(rng))]),
]  # fmt: skip
