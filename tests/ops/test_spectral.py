"""Options of Fourier transforms and windows that combine: values, gradients and errors of PyTorch."""

import itertools
import warnings

import genesis
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.torch.compare import assert_same, assert_same_gradients, to_genesis  # noqa: E402

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(3, 5))
SIGNAL = RNG.normal(size=(2, 40))


def compare(function, *arrays, rtol=1e-8):
    """``function(module, *tensors)`` has the same result, or raises an error of the same kind."""
    theirs = [torch.tensor(a, requires_grad=a.dtype.kind in "fc") for a in arrays]
    ours = to_genesis(theirs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = function(torch, *theirs)
        except Exception as error:
            kind = RuntimeError if isinstance(error, NotImplementedError) else type(error)
            with pytest.raises(kind):
                function(genesis, *ours)
            return
        found = function(genesis, *ours)
    assert_same(found, expected, rtol=rtol)
    if expected.requires_grad and expected.numel():
        used = [t.requires_grad for t in theirs]
        assert_same_gradients(
            found,
            [t for t, u in zip(ours, used, strict=True) if u],
            expected,
            [t for t, u in zip(theirs, used, strict=True) if u],
        )


@pytest.mark.parametrize("norm", [None, "ortho", "forward", "backward", "unitary"])
@pytest.mark.parametrize("n", [None, 1, 4, 7, 0])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, n, norm):
    dims = [-1, 0] if n == 0 else [-1, 0, 2]  # one wrong argument at a time
    for array, dim in itertools.product([REAL, REAL + 1j, np.arange(6)], dims):
        compare(lambda m, x, dim=dim: getattr(m.fft, name)(x, n, dim, norm), array)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize(
    "args", [(-1,), (2.5,), (True,), ((3,),), (None, None), (None, (0,)), (None, 1.0)]
)
def test_arguments_of_one_dimension(name, args):
    compare(lambda m, x: getattr(m.fft, name)(x, *args), REAL)


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "ifftn"])
def test_empty_lines_raise(name, shape):
    compare(lambda m, x: getattr(m.fft, name)(x), np.zeros(shape))


@pytest.mark.parametrize(
    "name", [f"{kind}fft{n}" for kind in ("", "i", "r", "ir", "h", "ih") for n in "2n"]
)
def test_several_dimensions(name):
    cube = RNG.normal(size=(3, 4, 5))
    for array, s, dim, norm in itertools.product(
        [cube, cube + 1j], [None, (4, 7), (-1, 3)], [(0, 1), (-1, 0), (0, 0)], [None, "ortho"]
    ):
        compare(lambda m, x, s=s, dim=dim, norm=norm: getattr(m.fft, name)(x, s, dim, norm), array)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("n", [0, 1, 5, 8])
@pytest.mark.parametrize("dtype", [None, "float64", "int64"])
def test_frequencies(name, n, dtype):
    compare(lambda m: getattr(m.fft, name)(n, 0.5, dtype=dtype and getattr(m, dtype)), rtol=1e-6)


@pytest.mark.parametrize("window", [None, 5, 8])
@pytest.mark.parametrize("win_length", [None, 5])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("pad_mode", ["reflect", "constant", "replicate", "circular"])
def test_stft(window, win_length, center, pad_mode):
    weights = [] if window is None else [RNG.uniform(0.5, 1, window)]
    for array, normalized, onesided, as_complex, hop in itertools.product(
        [SIGNAL, SIGNAL + 1j], [False, True], [None, False, True], [True, False, None], [None, 3]
    ):

        def transform(
            m, x, w=None, hop=hop, normalized=normalized, onesided=onesided, as_complex=as_complex
        ):
            return m.stft(
                x, 8, hop, win_length, w, center, pad_mode, normalized, onesided, as_complex
            )

        compare(transform, array, *weights)


@pytest.mark.parametrize("window", [None, 6, 9])
@pytest.mark.parametrize("win_length", [None, 6])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
def test_istft(window, win_length, center, onesided):
    weights = [] if window is None else [RNG.uniform(0.5, 1, window)]
    frequencies = RNG.normal(size=(2, 5 if onesided else 9, 12)) * (1 + 0.5j)
    for normalized, length, as_complex in itertools.product(
        [False, True], [None, 20, 60], [False, True]
    ):

        def transform(m, x, w=None, normalized=normalized, length=length, as_complex=as_complex):
            return m.istft(x, 9, 3, win_length, w, center, normalized, onesided, length, as_complex)

        compare(transform, frequencies, *weights)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
@pytest.mark.parametrize("dtype", [None, "float64", "float16", "int64"])
def test_windows_by_their_old_names(name, dtype):
    rtol = 1e-2 if dtype == "float16" else 1e-5
    for n, periodic in itertools.product([0, 1, 2, 5, 8], [True, False]):
        compare(
            lambda m, n=n, periodic=periodic: getattr(m, f"{name}_window")(
                n, periodic, dtype=dtype and getattr(m, dtype)
            ),
            rtol=rtol,
        )


OPTIONS = {
    "general_cosine": [{"a": [0.4, 0.5, 0.1]}],
    "general_hamming": [{}, {"alpha": 0.6}],
    "exponential": [{}, {"tau": 2.0}, {"center": 1.0, "tau": 2.0}],
    "gaussian": [{}, {"std": 2.0}],
    "kaiser": [{}, {"beta": 5.0}],
}


@pytest.mark.parametrize("name", torch.signal.windows.__all__)
def test_windows(name):
    for options, n, sym, dtype in itertools.product(
        OPTIONS.get(name, [{}]), [0, 1, 2, 5, 8, -1], [True, False], [None, "float64", "int64"]
    ):

        def window(m, options=options, n=n, sym=sym, dtype=dtype):
            make = getattr(m.signal.windows, name)
            return make(n, sym=sym, dtype=dtype and getattr(m, dtype), **options)

        compare(window, rtol=1e-5)
