"""Decompositions that report failure by a number, products of several tensors, older names."""

import sys

import genesis
import numpy as np

from tests.ops.op import Op, Sample
from tests.ops.table.linalg import (
    _ANY,
    _SQUARE,
    _abs,
    _diagonal,
    _geqrf,
    _householder_product,
    _matrices,
    _of_symmetric,
    _outer,
    _solve,
    _solve_triangular,
    _transposed,
    _x,
)


def _first(f):
    """The result without its info."""
    return lambda *args, **kwargs: f(*args, **kwargs)[0]


def _cholesky_solve(b, factor, upper=False):
    factor = np.triu(factor) if upper else np.tril(factor)
    a = np.matmul(_transposed(factor), factor) if upper else np.matmul(factor, _transposed(factor))
    return np.matmul(np.linalg.inv(a), b)


def _triangle(f):
    """Of a triangle far from singular; what lies outside of it must not count."""

    def wrapped(factor, upper=False):
        part = np.triu if upper else np.tril
        if not isinstance(factor, np.ndarray):
            part = type(factor).triu if upper else type(factor).tril
        return _diagonal(lambda factor: f(part(factor), upper=upper))(factor)

    return wrapped


def _factor_second(f):
    return lambda b, factor, upper=False: _triangle(lambda a, upper: f(b, a, upper=upper))(
        factor, upper
    )


def _ldl_solve(f):
    """Of a symmetric matrix that is a constant, by its factors; only B has a gradient."""

    def solved(b, size):
        rng = np.random.default_rng(size)
        a = rng.normal(size=(size, size))
        a = a + a.T
        if isinstance(b, np.ndarray):
            return np.matmul(np.linalg.inv(a), b)
        library = sys.modules[type(b).__module__.partition(".")[0]]
        factors = library.linalg.ldl_factor(library.tensor(a, dtype=b.dtype))
        return f(*factors, b)

    return solved


def _ormqr(a, tau, c, left=True, transpose=False):
    m = a.shape[-2]
    square = np.concatenate([a, np.zeros((*a.shape[:-1], max(m - a.shape[-1], 0)))], -1)[..., :m]
    q = _householder_product(square, tau)
    q = _transposed(q) if transpose else q
    return np.matmul(q, c) if left else np.matmul(c, q)


def _svd(a, some=True, compute_uv=True):
    u, s, vh = np.linalg.svd(a, full_matrices=not some)
    return _abs(u, s, _transposed(vh))


def _tensorsolve(a, b, dims=None):
    return np.linalg.tensorsolve(a, b, dims)


def _square_tensor(f):
    """Of tensors that are far from singular as matrices."""

    def wrapped(a, *args, **kwargs):
        shift = 3 * np.eye(int(np.sqrt(np.prod(a.shape)))).reshape(a.shape)
        if isinstance(a, np.ndarray):
            return f(a + shift, *args, **kwargs)
        library = sys.modules[type(a).__module__.partition(".")[0]]
        return f(a + library.tensor(shift, dtype=a.dtype), *args, **kwargs)

    return wrapped


def _remade(ld, pivots):
    """A from its factors: by the matrix that ldl_solve inverts."""
    eye = genesis.eye(ld.shape[-1], dtype=ld.dtype)
    return genesis.linalg.inv(genesis.linalg.ldl_solve(ld, pivots, eye))


def _triangular_solve(a, b, upper, transpose, unitriangular):
    a = _transposed(a) if transpose else a
    return _solve_triangular(a, b, upper=upper != transpose, unitriangular=unitriangular)


def _regularised(a):
    return _outer(lambda a: a)(a)


def _reflections(rng, *shape):
    """Vectors and factors of a Householder product, as geqrf makes them."""
    return _geqrf(_x(rng, *shape))


LINE = {"dtypes": "wide", "method": False}

OPS = [
    Op("linalg.cholesky_ex", _of_symmetric(np.linalg.cholesky), **LINE,
       wrap=lambda f: _of_symmetric(_first(f)), samples=_matrices(*_SQUARE)),
    Op("linalg.inv_ex", _outer(np.linalg.inv), **LINE, wrap=lambda f: _outer(_first(f)),
       samples=_matrices(*_SQUARE)),
    Op("linalg.solve_ex", _outer(_solve), **LINE, wrap=lambda f: _outer(_first(f)),
       samples=lambda rng: [
           Sample(_x(rng, 3, 3), _x(rng, 3, 2)), Sample(_x(rng, 2, 2, 2), _x(rng, 2, 2)),
           Sample(_x(rng, 2, 2), _x(rng, 3, 2), left=False), Sample(_x(rng, 0, 0), _x(rng, 0, 2))]),
    Op("linalg.ldl_factor", _of_symmetric(lambda a: np.zeros_like(a)), grad=False, **LINE,
       wrap=lambda f: _of_symmetric(lambda a: a.detach() - _remade(*f(a.detach()))), rtol=1e-9, rtol32=1e-3,
       unlike_torch="the row needs ldl_solve of genesis", samples=_matrices((3, 3), (4, 4))),
    Op("linalg.ldl_factor_ex", lambda a: np.zeros(a.shape[:-2], np.int32), **LINE, grad=False, result="int32",
       wrap=lambda f: _of_symmetric(lambda a: f(a).info), samples=_matrices((3, 3), (2, 2, 2), (0, 0))),
    Op("linalg.ldl_solve", _ldl_solve(None), wrap=_ldl_solve, **LINE, unlike_torch="it has no gradient",
       samples=lambda rng: [Sample(_x(rng, 3, 2), 3), Sample(_x(rng, 2, 2, 1), 2), Sample(_x(rng, 4, 0), 4)]),
    Op("linalg.cross", lambda a, b, dim=-1: np.cross(a, b, axis=dim), method=False, dtypes="number",
       samples=lambda rng: [Sample(_x(rng, 2, 3), _x(rng, 2, 3)), Sample(_x(rng, 3, 2), _x(rng, 3, 2), dim=0),
                            Sample(_x(rng, 1, 3), _x(rng, 4, 3)), Sample(_x(rng, 0, 3), _x(rng, 0, 3))],
       raises=[((np.ones((2, 2)), np.ones((2, 2))), {}, ValueError, "size 3")]),
    Op("linalg.diagonal", lambda a, offset=0, dim1=-2, dim2=-1: np.diagonal(a, offset, dim1, dim2), method=False,
       dtypes="all", view=True,
       samples=lambda rng: [Sample(_x(rng, 3, 3)), Sample(_x(rng, 2, 3, 4), offset=1), Sample(_x(rng, 0, 3)),
                            Sample(_x(rng, 2, 3, 2), dim1=0, dim2=1, offset=-1)]),
    Op("linalg.vecdot", lambda x, y, dim=-1: (x * y).sum(dim), method=False,
       samples=lambda rng: [Sample(_x(rng, 4), _x(rng, 4)), Sample(_x(rng, 2, 3), _x(rng, 3)),
                            Sample(_x(rng, 3, 2), _x(rng, 3, 1), dim=0), Sample(_x(rng, 2, 0), _x(rng, 2, 0))],
       raises=[((np.ones(2, int), np.ones(2, int)), {}, TypeError, "must be floating")]),
    Op("linalg.multi_dot", lambda tensors: np.linalg.multi_dot(tensors), method=False,
       samples=lambda rng: [Sample([_x(rng, 2, 3), _x(rng, 3, 4)]),
                            Sample([_x(rng, 5, 2), _x(rng, 2, 4), _x(rng, 4, 1)]),
                            Sample([_x(rng, 3), _x(rng, 3, 4), _x(rng, 4, 2), _x(rng, 2)]),
                            Sample([_x(rng, 3), _x(rng, 3, 2)]), Sample([_x(rng, 2, 0), _x(rng, 0, 3)])],
       raises=[(([np.ones((2, 3))],), {}, ValueError, "at least 2"),
               (([np.ones((2, 3)), np.ones((2, 3))],), {}, ValueError, r"\(2, 3\) and \(2, 3\)"),
               (([np.ones((2, 3)), np.ones(3), np.ones((3, 1))],), {}, ValueError, "tensor 1 must have 2")]),
    Op("chain_matmul", lambda *tensors: np.linalg.multi_dot(tensors) if len(tensors) > 1 else tensors[0],
       method=False, samples=lambda rng: [Sample(_x(rng, 2, 3), _x(rng, 3, 4), _x(rng, 4, 2)), Sample(_x(rng, 2, 3))]),
    Op("linalg.tensorinv", _square_tensor(np.linalg.tensorinv), wrap=_square_tensor, **LINE,
       samples=lambda rng: [Sample(_x(rng, 2, 3, 6)), Sample(_x(rng, 6, 3, 2), ind=1), Sample(_x(rng, 2, 2, 2, 2))]),
    Op("linalg.tensorsolve", _square_tensor(_tensorsolve), wrap=_square_tensor, **LINE,
       samples=lambda rng: [Sample(_x(rng, 2, 3, 6), _x(rng, 2, 3)), Sample(_x(rng, 4, 2, 2), _x(rng, 4)),
                            Sample(_x(rng, 2, 4, 2), _x(rng, 4), dims=(0, 2))]),
    Op("cholesky", _of_symmetric(np.linalg.cholesky), wrap=_of_symmetric, dtypes="wide", samples=_matrices(*_SQUARE)),
    Op("cholesky_solve", _factor_second(_cholesky_solve), wrap=_factor_second, dtypes="wide",
       samples=lambda rng: [Sample(_x(rng, 3, 2), _x(rng, 3, 3)), Sample(_x(rng, 3, 2), _x(rng, 3, 3), upper=True),
                            Sample(_x(rng, 2, 1), _x(rng, 2, 2, 2)), Sample(_x(rng, 2, 0), _x(rng, 2, 2))],
       raises=[((np.ones((2, 1)), np.ones((3, 3))), {}, ValueError, "do not fit")]),
    Op("cholesky_inverse", _triangle(lambda factor, upper: _cholesky_solve(np.eye(factor.shape[-1]), factor, upper)),
       wrap=_triangle, dtypes="wide",
       samples=lambda rng: [Sample(_x(rng, 3, 3)), Sample(_x(rng, 2, 2, 2), upper=True), Sample(_x(rng, 1, 1))]),
    Op("qr", _outer(lambda a: tuple(np.linalg.qr(a))), wrap=_outer, dtypes="wide", samples=_matrices(*_ANY)),
    Op("qr", _outer(lambda a, some: tuple(np.linalg.qr(a, "complete"))), variant="complete", wrap=_outer,
       dtypes="wide", samples=_matrices((2, 3), (2, 2, 2), some=False)),
    Op("svd", _outer(_svd), wrap=lambda f: _outer(lambda *a, **k: _abs(*f(*a, **k))), dtypes="wide",
       samples=_matrices(*_ANY)),
    Op("svd", _outer(lambda a, compute_uv: np.linalg.svd(a, compute_uv=False)), variant="values", dtypes="wide",
       wrap=lambda f: _outer(lambda *a, **k: f(*a, **k).S), samples=_matrices((2, 3), (2, 2, 2), compute_uv=False)),
    Op("linalg.svd", _outer(lambda a: (np.linalg.svd(a)[1], abs(np.linalg.svd(a)[2][..., : a.shape[-2], :]))),
       variant="wide", dtypes="wide", method=False,
       wrap=lambda f: _outer(lambda a: (f(a)[1], abs(f(a)[2][..., : a.shape[-2], :]))),
       samples=_matrices((2, 3), (2, 2, 4), (1, 3), (0, 2, 3))),
    Op("triangular_solve",
       lambda b, a, upper=True, transpose=False, unitriangular=False: _diagonal(_triangular_solve)(
           a, b, upper, transpose, unitriangular),
       wrap=lambda f: lambda b, a, *args, **kwargs: _diagonal(lambda a: f(b, a, *args, **kwargs)[0])(a),
       dtypes="wide",
       samples=lambda rng: [Sample(_x(rng, 3, 2), _x(rng, 3, 3)), Sample(_x(rng, 3, 2), _x(rng, 3, 3), upper=False),
                            Sample(_x(rng, 3, 2), _x(rng, 3, 3), transpose=True),
                            Sample(_x(rng, 2, 2, 1), _x(rng, 2, 2, 2), unitriangular=True)]),
    Op("lu", _outer(lambda a: np.linalg.det(a) ** 2), variant="determinant", dtypes="wide",
       wrap=lambda f: _outer(lambda a: f(a)[0].diagonal(0, -2, -1).prod(-1) ** 2),
       rtol32=1e-4, samples=_matrices((3, 3), (2, 2, 2))),
    Op("lu_solve", lambda b, a: np.matmul(np.linalg.inv(_regularised(a)), b), dtypes="wide",
       wrap=lambda f: lambda b, a: f(b, *_outer(lambda a: a.lu())(a)),
       samples=lambda rng: [Sample(_x(rng, 3, 2), _x(rng, 3, 3)), Sample(_x(rng, 2, 2, 1), _x(rng, 2, 2, 2))]),
    Op("ormqr", _ormqr, dtypes="wide",
       samples=lambda rng: [
           Sample(*_reflections(rng, 3, 3), _x(rng, 3, 2), **flags)
           for flags in ({}, {"transpose": True})] + [
           Sample(*_reflections(rng, 4, 2), _x(rng, 3, 4), left=False, transpose=turned) for turned in (False, True)] + [
           Sample(*_reflections(rng, 2, 3, 2), _x(rng, 2, 3, 1))],
       unlike_torch="its gradient is that of reflections with unit vectors only",
       raises=[((np.ones((3, 2)), np.ones(2), np.ones((2, 2))), {}, ValueError, "do not fit")]),
]  # fmt: skip
