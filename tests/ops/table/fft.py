"""Fourier transforms: genesis.fft, and the transforms of pieces."""

import numpy as np

from tests.ops.op import Op, Sample


def _complex(re, im):
    return re + im * 1j


def _of_pair(f):
    return lambda re, im, *args, **kwargs: f(_complex(re, im), *args, **kwargs)


_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_NORMS = [None, "forward", "ortho"]


def _one(complex_input):
    """Lengths, dimensions and norms; odd lengths, and lengths that cut off or fill up."""

    def make(rng):
        def x(*shape):
            return [rng.normal(size=shape) for _ in range(1 + complex_input)]

        made = [Sample(*x(3, 6), norm=norm) for norm in _NORMS]
        made += [
            Sample(*x(5)),
            Sample(*x(4, 2), dim=0),
            Sample(*x(2, 5), n=7),
            Sample(*x(2, 6), n=3),
        ]
        return [*made, Sample(*x(2, 17))]

    return make


def _several(complex_input, two=False):
    def make(rng):
        def x(*shape):
            return [rng.normal(size=shape) for _ in range(1 + complex_input)]

        made = [Sample(*x(3, 4), norm=norm) for norm in _NORMS]
        made += [Sample(*x(2, 3, 4), s=(2, 5), dim=(0, 2)), Sample(*x(2, 3, 5), dim=(1, 2))]
        return made if two else [*made, Sample(*x(2, 3, 4)), Sample(*x(2, 3, 4), s=(3, 2))]

    return make


def _numpy(f):
    """NumPy's function under PyTorch's names of arguments."""

    def called(x, n=None, s=None, dim=None, norm=None):
        options = {"norm": norm}
        if s is not None:
            options["s"] = s
            options["axes"] = dim if dim is not None else tuple(range(x.ndim - len(s), x.ndim))
        elif dim is not None:
            options["axes" if isinstance(dim, tuple) else "axis"] = dim
        if n is not None:
            options["n"] = n
        return f(x, **options)

    return called


def _hermitian(x, s=None, dim=None, norm=None, n=None):
    flipped = {None: "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return _numpy(np.fft.irfftn)(np.conj(x), s=s, dim=dim, norm=flipped)


def _inverse_hermitian(x, s=None, dim=None, norm=None, n=None):
    flipped = {None: "forward", "forward": "backward", "ortho": "ortho"}[norm]
    return np.conj(_numpy(np.fft.rfftn)(x, s=s, dim=dim, norm=flipped))


def _last_two(f):
    return lambda x, s=None, dim=(-2, -1), norm=None: f(x, s=s, dim=dim, norm=norm)


def _row(name, ref, complex_input, samples):
    return Op(f"fft.{name}", _of_pair(ref) if complex_input else ref, dtypes="wide", method=False,
              samples=samples, wrap=_of_pair if complex_input else None, rtol=1e-11, rtol32=1e-4,
              result=lambda d: d if name.startswith(("irfft", "hfft")) else _COMPLEX[d], layouts=False)  # fmt: skip


OPS: list[Op] = [
    _row("fft", _numpy(np.fft.fft), True, _one(True)),
    _row("ifft", _numpy(np.fft.ifft), True, _one(True)),
    _row("rfft", _numpy(np.fft.rfft), False, _one(False)),
    _row("irfft", _numpy(np.fft.irfft), True, _one(True)),
    _row("hfft", _numpy(np.fft.hfft), True, _one(True)),
    _row("ihfft", _numpy(np.fft.ihfft), False, _one(False)),
    _row("fftn", _numpy(np.fft.fftn), True, _several(True)),
    _row("ifftn", _numpy(np.fft.ifftn), True, _several(True)),
    _row("rfftn", _numpy(np.fft.rfftn), False, _several(False)),
    _row("irfftn", _numpy(np.fft.irfftn), True, _several(True)),
    _row("hfftn", _hermitian, True, _several(True)),
    _row("ihfftn", _inverse_hermitian, False, _several(False)),
    _row("fft2", _last_two(_numpy(np.fft.fftn)), True, _several(True, True)),
    _row("ifft2", _last_two(_numpy(np.fft.ifftn)), True, _several(True, True)),
    _row("rfft2", _last_two(_numpy(np.fft.rfftn)), False, _several(False, True)),
    _row("irfft2", _last_two(_numpy(np.fft.irfftn)), True, _several(True, True)),
    _row("hfft2", _last_two(_hermitian), True, _several(True, True)),
    _row("ihfft2", _last_two(_inverse_hermitian), False, _several(False, True)),
]
