"""genesis.special: its names, values far out, and what has no derivative."""

import genesis
import numpy as np
import pytest
from genesis import special
from scipy import special as reference

OTHER_NAMES = {
    "expit": "sigmoid",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "psi": "digamma",
    **{
        name: name
        for name in [
            "digamma",
            "erf",
            "erfc",
            "erfinv",
            "exp2",
            "expm1",
            "i0",
            "log1p",
            "log_softmax",
            "logit",
            "logsumexp",
            "polygamma",
            "round",
            "sinc",
            "softmax",
            "xlogy",
        ]
    },
}


@pytest.mark.parametrize("name", special.__all__)
def test_names(name):
    function = getattr(special, name)
    if name in OTHER_NAMES:
        assert function is getattr(genesis, OTHER_NAMES[name])
    else:
        assert function is getattr(genesis._C, f"special_{name}")


def test_they_are_names_of_torch():
    torch = pytest.importorskip("torch")
    assert not [name for name in special.__all__ if not hasattr(torch.special, name)]


FAR = {
    "i0e": np.concatenate([np.linspace(-30, 30, 601), [100.0, 1e5, 1e15]]),
    "i1e": np.concatenate([np.linspace(-30, 30, 601), [100.0, 1e5, 1e15]]),
    "i0": np.linspace(-705, 705, 301),
    "i1": np.linspace(-705, 705, 301),
    "erfcx": np.concatenate([np.linspace(-26, 30, 561), [100.0, 1e5, 1e200]]),
    "log_ndtr": np.concatenate([np.linspace(-40, 8, 481), [-1e4, -1e150]]),
    "ndtri": np.concatenate([np.linspace(0.001, 0.999, 999), np.logspace(-300, -4, 75)]),
    "entr": np.logspace(-300, 300, 61),
}


@pytest.mark.parametrize("name", FAR)
def test_precision(name):
    x = FAR[name]
    ours = getattr(special, name)(genesis.from_numpy(x)).numpy()
    expected = getattr(reference, name)(x)
    # SciPy's erfcx is off by this much below zero.
    np.testing.assert_allclose(ours, expected, rtol=1e-13 if name == "erfcx" else 3e-14, atol=1e-17)


def test_bessel_functions_overflow_where_their_value_does():
    x = genesis.tensor([-float("inf"), -714.0, 712.0, 714.0, float("inf")], dtype=genesis.float64)
    assert special.i0(x).isinf().tolist() == [True, True, False, True, True]
    assert special.i1(x).tolist()[0] == -float("inf")


def test_ndtri_near_the_middle_keeps_its_digits():
    p = 0.5 + np.array([-1e-3, 1e-6, -1e-10, 1e-15])
    ours = special.ndtri(genesis.from_numpy(p)).numpy()
    np.testing.assert_allclose(ours, reference.ndtri(p), rtol=1e-13)


def test_zeta_everywhere():
    s, x = np.meshgrid([1.0001, 1.5, 2.0, 3.0, 7.5, 40.0, 200.0], [1e-3, 0.5, 1.0, 2.5, 30.0, 1e6])
    ours = special.zeta(genesis.from_numpy(s), genesis.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours, reference.zeta(s, x), rtol=1e-13)
    edge = special.zeta(
        genesis.tensor([1.0, 0.5, 2.0, 2.5]), genesis.tensor([2.0, 2.0, -1.0, -1.5])
    )
    assert str(edge.tolist()) == "[inf, nan, inf, nan]"
    assert special.zeta(2, genesis.tensor(-1.5, dtype=genesis.float64)).item() == pytest.approx(
        9.379246644989124, rel=1e-14
    )


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_functions_at_their_borders(name):
    inf = float("inf")
    a = np.array([0.5, 30.0, 2e7, 1e3, 50.0, 37.0, 0.0, 0.0, 1.0, inf, 2.0, -1.0])
    x = np.array([40.0, 1e-3, 2.001e7, 1e3, 90.0, 1e-5, 0.0, 1.0, 0.0, 1.0, inf, 1.0])
    args = (genesis.tensor(values, dtype=genesis.float64) for values in (a, x))
    expected = getattr(reference, name)(a, x)
    np.testing.assert_allclose(getattr(special, name)(*args).numpy(), expected, rtol=1e-11)


def test_incomplete_gamma_functions_have_no_derivative_by_the_shape():
    a = genesis.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="igamma: has no derivative by its first argument"):
        special.gammainc(a, genesis.tensor([1.5])).sum().backward()


def test_zeta_has_no_derivative_by_its_exponent():
    s = genesis.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="special.zeta: has no derivative by its first argument"):
        special.zeta(s, genesis.tensor([1.5])).sum().backward()


@pytest.mark.parametrize("name", ["i1", "i1e", "i0e", "i0"])
def test_gradients_of_bessel_functions_at_zero(name):
    x = genesis.zeros(1, dtype=genesis.float64, requires_grad=True)
    getattr(special, name)(x).sum().backward()
    assert x.grad.item() == {"i1": 0.5, "i1e": 0.5, "i0": 0.0, "i0e": 0.0}[name]


DEGREES = [name for name in special.__all__ if "polynomial" in name]


@pytest.mark.parametrize("name", DEGREES)
def test_polynomials_are_those_of_torch(name):
    torch = pytest.importorskip("torch")
    x = np.concatenate([np.linspace(-1.5, 1.5, 31), [0.0, 1.0, -1.0]])
    degrees = np.array([-2, 0, 1, 2, 3, 7, 8, 20])[:, None]
    ours = getattr(special, name)(genesis.tensor(x, dtype=genesis.float64), genesis.tensor(degrees))
    theirs = getattr(torch.special, name)(torch.tensor(x), torch.tensor(degrees))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)


def test_chebyshev_polynomials_of_a_high_degree():
    x = genesis.linspace(-1, 1, 11, dtype=genesis.float64)
    values = special.chebyshev_polynomial_t(x, 1000)
    np.testing.assert_allclose(values.numpy(), np.cos(1000 * np.arccos(x.numpy())), atol=1e-9)


def test_the_degree_has_no_derivative():
    n = genesis.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="degree n"):
        special.legendre_polynomial_p(genesis.tensor([0.5]), n).backward()


# What SciPy calls them, and where to compare.
BESSEL = {
    "bessel_j0": (reference.j0, np.linspace(-60, 60, 601)),
    "bessel_j1": (reference.j1, np.linspace(-60, 60, 601)),
    "bessel_y0": (reference.y0, np.linspace(0.01, 60, 601)),
    "bessel_y1": (reference.y1, np.linspace(0.01, 60, 601)),
    "modified_bessel_k0": (reference.k0, np.geomspace(1e-10, 600, 601)),
    "modified_bessel_k1": (reference.k1, np.geomspace(1e-10, 600, 601)),
    "scaled_modified_bessel_k0": (reference.k0e, np.geomspace(1e-10, 1e10, 601)),
    "scaled_modified_bessel_k1": (reference.k1e, np.geomspace(1e-10, 1e10, 601)),
    "airy_ai": (lambda x: reference.airy(x)[0], np.linspace(-40, 40, 1601)),
}


@pytest.mark.parametrize("name", BESSEL)
def test_precision_of_bessel_functions(name):
    function, x = BESSEL[name]
    ours = getattr(special, name)(genesis.from_numpy(x)).numpy()
    oscillates = "modified" not in name
    atol = np.where(x > 0, 0, 1e-14) if name == "airy_ai" else 4e-15 * oscillates
    error = np.abs(ours - function(x))
    assert (error <= 4e-14 * np.abs(function(x)) + atol).all(), error.max()
