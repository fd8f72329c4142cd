"""Complex numbers and their parts, and what makes complex numbers of real ones.

Leaves are real: rows make complex numbers of pairs of them (`wrap`).
"""

import sys

import numpy as np

from tests.ops.op import Op, Sample


def _complex(re, im):
    if isinstance(re, (np.ndarray, np.generic)):
        return re + 1j * im
    return sys.modules[type(re).__module__.partition(".")[0]].complex(re, im)


def _complex_of(dtype):
    return {"float32": "complex64", "float64": "complex128"}[dtype]


def _of_pair(f):
    """f of a complex number whose parts are the first two arguments."""
    return lambda re, im, *args, **kwargs: f(_complex(re, im), *args, **kwargs)


def _row(name, ref, **options):
    return Op(name, _of_pair(ref), nin=2, dtypes="wide", layouts=False, wrap=_of_pair, **options)


def _shapes(rng):
    shapes = [(2, 3), (), (4,), (0, 2)]
    return [
        Sample(np.asarray(rng.normal(size=s) + 1.5), np.asarray(rng.normal(size=s))) for s in shapes
    ]


def _positive(rng):
    return [Sample(*(np.asarray(np.abs(a) + 0.1) for a in sample.args)) for sample in _shapes(rng)]


def _parts(z):
    return np.stack([z.real, z.imag], -1)


def _square(rng):
    return [
        Sample(rng.normal(size=s) + 3 * np.diag(np.arange(s[-1])), rng.normal(size=s))
        for s in [(3, 3), (2, 2, 2), (1, 1)]
    ]


def _power_sums(f):
    """The sums of powers of eigenvalues, which do not depend on their order."""

    def sums(re, im):
        w = f(_complex(re, im))
        return w.sum(-1), (w * w).sum(-1), (w * w * w).sum(-1)

    return sums


def _rebuilt(f):
    """f(values) of a matrix: it does not depend on order and length of the vectors."""

    def product(re, im):
        w, v = f(_complex(re, im))
        library = np if isinstance(re, np.ndarray) else None
        if library is not None:
            return np.matmul(v * (w * w)[..., None, :], np.linalg.inv(v))
        library = sys.modules[type(re).__module__.partition(".")[0]]
        return library.matmul(v * (w * w).unsqueeze(-2), library.linalg.inv(v))

    return product


def _eigenvalues(re, im):
    w = np.linalg.eigvals(re + 1j * im)
    return w.sum(-1), (w * w).sum(-1), (w * w * w).sum(-1)


def _squared(re, im):
    z = re + 1j * im
    return np.matmul(z, z)


OPS: list[Op] = [
    Op("complex", lambda re, im: re + 1j * im, nin=2, dtypes="wide", method=False, samples=_shapes,
       result=_complex_of,
       raises=[((np.ones(2), np.ones(2, np.float32)), {}, TypeError, "real and imag must both be")]),
    Op("polar", lambda r, a: r * np.exp(1j * a), nin=2, dtypes="wide", method=False, samples=_positive,
       result=_complex_of),
    Op("angle", lambda x: np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0)), dtypes="wide", variant="real"),
    _row("angle", np.angle, samples=_shapes),
    _row("conj", np.conj, samples=_shapes, result=_complex_of),
    _row("conj_physical", np.conj, samples=_shapes, result=_complex_of),
    _row("conj_physical_", np.conj, samples=_shapes, result=_complex_of),
    _row("isreal", np.isreal, samples=_shapes, grad=False, result="bool"),
    _row("real", np.real, samples=_shapes, method=False),
    _row("imag", np.imag, samples=_shapes, method=False),
    _row("view_as_real", _parts, samples=lambda rng: _shapes(rng)[:3], method=False),
    Op("view_as_complex", lambda x: x[..., 0] + 1j * x[..., 1], dtypes="wide", view=True, method=False, layouts=False,
       result=_complex_of,
       samples=lambda rng: [Sample(rng.normal(size=(*s, 2))) for s in [(), (3,), (2, 3)]],
       raises=[((np.ones((2, 3)),), {}, ValueError, "last dimension must have size 2")]),
    _row("adjoint", lambda z: np.conj(np.swapaxes(z, -1, -2) if z.ndim else z),
         samples=lambda rng: [Sample(rng.normal(size=s), rng.normal(size=s)) for s in [(2, 3), (2, 1, 3), ()]],
         result=_complex_of),
    _row("sgn", lambda z: z / np.abs(z), variant="complex", samples=_shapes, result=_complex_of),
    Op("cfloat", lambda x: x.astype(np.complex64), dtypes="wide", result="complex64", rtol=1e-6,
       grad_options={"eps": 1e-2, "atol": 1e-2}, unlike_torch="float32 beside float64"),
    Op("cdouble", lambda x: x.astype(np.complex128), dtypes="wide", result="complex128"),
    Op("linalg.eig", _squared, nin=2, dtypes="wide", method=False, layouts=False, samples=_square,
       wrap=_rebuilt, result=_complex_of, rtol=1e-8, rtol32=1e-3, grad_options={"atol": 1e-4}),
    Op("linalg.eigvals", _eigenvalues, nin=2, dtypes="wide", method=False, layouts=False, samples=_square,
       wrap=_power_sums, result=_complex_of, rtol=1e-8, rtol32=1e-3, grad_options={"atol": 1e-4}),
]  # fmt: skip
