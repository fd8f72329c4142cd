"""Linear algebra by LAPACK: solving and decomposing stacks of matrices.

Rows add a constant to their matrices (`wrap`), so that any leaf, also one with equal columns, gives
matrices that are regular, with eigenvalues apart. Singular ones are in tests/ops/test_linalg.py.
"""

import sys

import numpy as np

from tests.ops.op import Op, Sample


def _constant(array, like):
    """The array in the library and the dtype of `like`."""
    if isinstance(like, np.ndarray):
        return array.astype(like.dtype)
    library = sys.modules[type(like).__module__.partition(".")[0]]
    return library.tensor(array, dtype=like.dtype)


def _transposed(x):
    return np.swapaxes(x, -1, -2) if isinstance(x, np.ndarray) else x.transpose(-2, -1)


def _regular(x):
    """With large elements off the diagonal: pivots are needed."""
    m, n = x.shape[-2:]
    return x + _constant(4.0 * np.arange(1, n + 1) * np.eye(m, n)[::-1], x)


def _symmetric(x):
    n = x.shape[-1]
    return x + _transposed(x) + _constant(4.0 * np.diag(np.arange(1, n + 1)), x)


def _outer(f):
    """Of regular matrices, in the first argument."""
    return lambda x, *args, **kwargs: f(_regular(x), *args, **kwargs)


def _of_symmetric(f):
    return lambda x, *args, **kwargs: f(_symmetric(x), *args, **kwargs)


def _abs(*outputs):
    """Without what a decomposition leaves open: the signs of its vectors."""
    return tuple(abs(y) for y in outputs)


def _x(rng, *shape):
    return np.asarray(rng.uniform(-1, 1, shape))


def _matrices(*shapes, **kwargs):
    return lambda rng: [Sample(_x(rng, *shape), **kwargs) for shape in shapes]


_SQUARE = [(3, 3), (2, 2, 2), (1, 1), (2, 1, 2, 2), (0, 2, 2), (0, 0), (2, 0, 0)]
_ANY = [(3, 3), (3, 2), (2, 3), (2, 3, 2), (2, 1, 3), (0, 3, 2), (4, 1)]
_EMPTY = [(0, 3), (3, 0), (2, 0, 0)]


def _solve(a, b, left=True):
    if not left:
        return np.swapaxes(_solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    vector = b.ndim == 1 or b.shape == a.shape[:-1]
    x = np.matmul(np.linalg.inv(a), b[..., None] if vector else b)
    return x[..., 0] if vector else x


def _triangle(a, upper, unitriangular):
    a = np.triu(a) if upper else np.tril(a)
    n = a.shape[-1]
    return np.where(np.eye(n, dtype=bool), 1.0, a) if unitriangular else a


def _solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    return _solve(_triangle(a, upper, unitriangular), b, left) if a.size else b.copy()


def _diagonal(f):
    def wrapped(a, *args, **kwargs):
        return f(a + _constant(3 * np.eye(a.shape[-1]), a), *args, **kwargs)

    return wrapped


def _eigh(a, UPLO="L"):
    return np.linalg.eigh(a, UPLO)


def _pinv(a, **kwargs):
    return np.linalg.pinv(a) if a.size else _transposed(a).copy()


def _norm(x, ord=None, dim=None, keepdim=False):
    """NumPy's, for some dimensions at a time."""
    if (isinstance(dim, tuple) and len(dim) != 2) or (dim is None and ord is None):
        return np.sqrt((x * x).sum(dim, keepdims=keepdim))
    return np.linalg.norm(x, ord, dim, keepdim)


def _vector_norm(x, ord=2, dim=None, keepdim=False):
    if dim is None:
        y = np.linalg.norm(x.ravel(), ord)
        return y.reshape((1,) * x.ndim) if keepdim else y
    return np.linalg.norm(x, ord, dim, keepdims=keepdim)


def _matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    return np.linalg.norm(x, ord, dim, keepdims=keepdim)


_inf = float("inf")


def _matrix_exp(a):
    """By its series, of a / 64."""
    x, y = a / 64.0, np.broadcast_to(np.eye(a.shape[-1]), a.shape).astype(a.dtype)
    term = y
    for k in range(1, 20):
        term = np.matmul(term, x) / k
        y = y + term
    for _ in range(6):
        y = np.matmul(y, y)
    return y


def _householder_product(a, tau):
    m, n = a.shape[-2:]
    q = np.broadcast_to(np.eye(m, n), a.shape).astype(a.dtype)
    for i in reversed(range(tau.shape[-1])):
        v = np.concatenate(
            [np.zeros_like(a[..., :i, i]), np.ones_like(a[..., :1, i]), a[..., i + 1 :, i]], -1
        )
        q = q - tau[..., i, None, None] * v[..., :, None] * np.matmul(v[..., None, :], q)
    return q


def _geqrf(a):
    h, tau = (np.zeros(s, a.dtype) for s in (a.shape, (*a.shape[:-2], min(a.shape[-2:]))))
    for i in np.ndindex(a.shape[:-2]):
        raw, tau[i] = np.linalg.qr(a[i], "raw")
        h[i] = raw.T
    return h, tau


_LEFT = [
    Op("linalg.solve", _outer(_solve), wrap=_outer, dtypes="wide", method=False,
       samples=lambda rng: [
           Sample(_x(rng, 3, 3), _x(rng, 3, 2)), Sample(_x(rng, 3, 3), _x(rng, 3)),
           Sample(_x(rng, 2, 2, 2), _x(rng, 2, 2, 1)), Sample(_x(rng, 2, 2, 2), _x(rng, 2, 2)),
           Sample(_x(rng, 2, 2), _x(rng, 2, 2, 1)), Sample(_x(rng, 2, 1, 2, 2), _x(rng, 3, 2, 1)),
           Sample(_x(rng, 2, 2), _x(rng, 3, 2), left=False), Sample(_x(rng, 0, 0), _x(rng, 0, 2)),
           Sample(_x(rng, 2, 2), _x(rng, 2, 0)), Sample(_x(rng, 0, 2, 2), _x(rng, 2, 1)),
       ]),
    Op("linalg.solve_triangular", _diagonal(_solve_triangular), wrap=_diagonal, dtypes="wide",
       method=False,
       samples=lambda rng: [
           Sample(_x(rng, 3, 3), _x(rng, 3, 2), upper=True),
           Sample(_x(rng, 3, 3), _x(rng, 3, 2), upper=False),
           Sample(_x(rng, 2, 2, 2), _x(rng, 2, 1), upper=True, unitriangular=True),
           Sample(_x(rng, 2, 2), _x(rng, 2, 3, 2), upper=False, left=False),
           Sample(_x(rng, 2, 2), _x(rng, 1, 2), upper=True, left=False, unitriangular=True),
           Sample(_x(rng, 2, 2), _x(rng, 2, 0), upper=True),
       ]),
]  # fmt: skip

_SAME = [
    (name, method)
    for names in (("linalg.inv", "inverse"), ("linalg.det", "det"))
    for name, method in zip(names, (False, True), strict=True)
]

OPS = [
    *_LEFT,
    *(
        Op(name, _outer(np.linalg.inv if "inv" in name else np.linalg.det), wrap=_outer,
           dtypes="wide", method=method, samples=_matrices(*_SQUARE))
        for name, method in _SAME
    ),
    *(
        Op(name, _outer(lambda a: np.linalg.slogdet(a)[1]), variant="log", dtypes="wide",
           wrap=lambda f: _outer(lambda a: f(a).logabsdet), method=method,
           samples=_matrices(*_SQUARE))
        for name, method in (("linalg.slogdet", False), ("slogdet", True))
    ),
    Op("logdet", _of_symmetric(lambda a: np.log(np.linalg.det(a))), wrap=_of_symmetric,
       dtypes="wide", samples=_matrices(*_SQUARE)),
    Op("linalg.slogdet", _outer(lambda a: np.linalg.slogdet(a)[0]), variant="sign", dtypes="wide",
       wrap=lambda f: _outer(lambda a: f(a).sign), method=False, grad=False,
       samples=_matrices(*_SQUARE)),
    *(
        Op(name, _outer(np.linalg.matrix_power), wrap=_outer, dtypes="wide", method=method,
           rtol32=1e-4, samples=lambda rng: [Sample(_x(rng, 2, 2), 3), Sample(_x(rng, 2, 2, 2), -2),
                                Sample(_x(rng, 2, 2), 1), Sample(_x(rng, 2, 2), 6),
                                Sample(_x(rng, 0, 2, 2), 2)])
        for name, method in (("linalg.matrix_power", False), ("matrix_power", True))
    ),
    Op("linalg.matrix_power", np.linalg.matrix_power, variant="zero", dtypes="wide", method=False,
       grad=False, unlike_torch="its result requires grad, and has none",
       samples=lambda rng: [Sample(_x(rng, 2, 2, 2), 0)]),
    *(
        Op(name, _matrix_exp, dtypes="wide", method=method, rtol32=1e-4,
           samples=lambda rng: [*_matrices(*_SQUARE)(rng), Sample(_x(rng, 2, 2) * 20),
                                Sample(_x(rng, 4, 2, 2) * np.array([0.01, 1, 5, 9])[:, None, None])])
        for name, method in (("linalg.matrix_exp", False), ("matrix_exp", True))
    ),
    *(
        Op(name, _householder_product, dtypes="wide", method=method,
           samples=lambda rng: [
               Sample(_x(rng, 3, 3), _x(rng, 3)), Sample(_x(rng, 4, 2), _x(rng, 2)),
               Sample(_x(rng, 4, 3), _x(rng, 2)), Sample(_x(rng, 2, 3, 2), np.zeros((2, 2))),
               Sample(_x(rng, 2, 1, 3, 2), _x(rng, 2, 1, 1)), Sample(_x(rng, 0, 3, 2), _x(rng, 0, 2)),
               Sample(_x(rng, 1, 1), _x(rng, 1)), Sample(_x(rng, 3, 2), _x(rng, 0)),
               Sample(_x(rng, 2, 0), _x(rng, 0)),
           ])
        for name, method in (("linalg.householder_product", False), ("orgqr", True))
    ),
    Op("geqrf", _outer(_geqrf), wrap=_outer, dtypes="wide", grad=False,
       samples=_matrices(*_ANY, *_EMPTY)),
    Op("linalg.cholesky", _of_symmetric(np.linalg.cholesky), wrap=_of_symmetric, dtypes="wide",
       method=False, samples=_matrices(*_SQUARE)),
    Op("linalg.cholesky", _of_symmetric(lambda a, upper: _transposed(np.linalg.cholesky(a))),
       variant="upper", wrap=_of_symmetric, dtypes="wide", method=False,
       samples=_matrices((3, 3), (2, 2, 2), upper=True)),
    Op("linalg.qr", _outer(lambda a: tuple(np.linalg.qr(a))), wrap=_outer, dtypes="wide",
       method=False, samples=_matrices(*_ANY)),
    Op("linalg.qr", _outer(lambda a, mode: tuple(np.linalg.qr(a, mode))), variant="complete",
       wrap=_outer, dtypes="wide", method=False,
       samples=_matrices((2, 3), (2, 2, 2), mode="complete")),
    Op("linalg.qr", _outer(lambda a, mode: np.linalg.qr(a, mode)), variant="r", dtypes="wide",
       wrap=lambda f: _outer(lambda a, mode: f(a, mode).R), method=False,
       unlike_torch="it has no gradient there", samples=_matrices((3, 2), (2, 2, 3), mode="r")),
    Op("linalg.eigh", _of_symmetric(lambda a, UPLO="L": _abs(*_eigh(a, UPLO))), dtypes="wide",
       wrap=lambda f: _of_symmetric(lambda *args, **kwargs: _abs(*f(*args, **kwargs))),
       method=False,
       samples=lambda rng: [*_matrices(*_SQUARE)(rng), Sample(_x(rng, 3, 3), UPLO="U")]),
    Op("linalg.eigvalsh", _of_symmetric(np.linalg.eigvalsh), wrap=_of_symmetric, dtypes="wide",
       method=False, samples=lambda rng: [*_matrices(*_SQUARE)(rng), Sample(_x(rng, 2, 2), "U")]),
    Op("linalg.svd", _outer(lambda a, full_matrices: _abs(*np.linalg.svd(a, full_matrices))),
       wrap=lambda f: _outer(lambda a, full_matrices: _abs(*f(a, full_matrices))), dtypes="wide",
       method=False, samples=_matrices(*_ANY, full_matrices=False)),
    Op("linalg.svd", _outer(lambda a: _abs(*np.linalg.svd(a))), variant="square", dtypes="wide",
       wrap=lambda f: _outer(lambda a: _abs(*f(a))), method=False,
       samples=_matrices((3, 3), (2, 2, 2))),
    Op("linalg.svdvals", _outer(lambda a: np.linalg.svd(a, compute_uv=False)), wrap=_outer,
       dtypes="wide", method=False, samples=_matrices(*_ANY)),
    Op("linalg.pinv", _outer(_pinv), wrap=_outer, dtypes="wide", method=False,
       samples=lambda rng: [*_matrices(*_ANY, *_EMPTY)(rng), Sample(_x(rng, 3, 2), atol=0.1),
                            Sample(_x(rng, 2, 3), rtol=1e-3)]),
    Op("linalg.vector_norm", _vector_norm, method=False,
       samples=lambda rng: [
           Sample(_x(rng, 2, 3)), Sample(_x(rng, 2, 3), 1, 0), Sample(_x(rng, 2, 3), 3, -1, True),
           Sample(_x(rng, 4), _inf), Sample(_x(rng, 4), -_inf), Sample(_x(rng, 2, 3), keepdim=True),
           Sample(_x(rng, 0, 3), dim=0), Sample(_x(rng, 2, 3), ord=0.5, dim=1),
       ],
       raises=[((np.ones(2), "fro"), {}, TypeError, "a number"),
               ((np.ones(2).astype(int),), {}, TypeError, "floating")]),
    Op("linalg.matrix_norm", _matrix_norm, dtypes="wide", method=False,
       samples=lambda rng: [
           *(Sample(_x(rng, 2, 3), ord)
             for ord in ("fro", "nuc", 1, -1, 2, -2, _inf, -_inf)),
           Sample(_x(rng, 2, 2, 3)), Sample(_x(rng, 3, 2, 2), 2, (0, 2)),
           Sample(_x(rng, 3, 2, 2), "nuc", (2, 0), True), Sample(_x(rng, 3, 2, 2), 1, (2, 0), True),
           Sample(_x(rng, 3, 2, 2), _inf, (-1, 0)),
       ],
       raises=[((np.ones(2),), {}, ValueError, "at least 2 dimensions"),
               ((np.ones((2, 2)), 3), {}, ValueError, "ord must be"),
               ((np.ones((2, 2)), "max"), {}, ValueError, "'max'"),
               ((np.ones((2, 2)), "fro", (0, 0)), {}, ValueError, "two different"),
               ((np.ones((2, 2)), "fro", 0), {}, ValueError, "two dimensions"),
               ((np.ones((2, 2)), "fro", (0, 2)), {}, IndexError, "out of range")]),
    Op("linalg.norm", _norm, dtypes="wide", method=False,
       samples=lambda rng: [
           Sample(_x(rng, 2, 3)), Sample(_x(rng, 2, 3), "nuc"), Sample(_x(rng, 2, 3), 1),
           Sample(_x(rng, 4), 3), Sample(_x(rng, 2, 3), 1, 0), Sample(_x(rng, 2, 2, 3), 2, (0, 2)),
           Sample(_x(rng, 2, 2, 3), dim=(0, 2), keepdim=True), Sample(_x(rng, 2, 2, 3)),
           Sample(_x(rng, 2, 2, 3), -_inf, -1),
       ],
       raises=[((np.ones((2, 2, 2)), 1), {}, ValueError, "one or two"),
               ((np.ones(2), "fro"), {}, ValueError, "must be a number")]),
]  # fmt: skip
