"""Distributions, transforms and divergences against PyTorch: values, shapes and gradients, with
random parameters, in float32 and float64."""

from __future__ import annotations

import warnings
from typing import Any

import genesis
import genesis.distributions
import numpy as np
import pytest

from tests.distributions.cases import CASES, Case

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

DTYPES = ("float32", "float64")
RTOL = {"float32": 2e-4, "float64": 1e-7}
# Random factors keep these inside their constraints only together.
TOGETHER = {
    "probs", "total_count", "covariance_matrix", "precision_matrix", "scale_tril", "df",
    "temperature", "low", "high",
}  # fmt: skip
MULTIVARIATE = {"MultivariateNormal", "LowRankMultivariateNormal", "Wishart"}

# PyTorch is wrong: its mode of Kumaraswamy is NaN where concentration0 > 1; float64 parameters of
# GeneralizedPareto meet float32 constants.
WRONG = {("Kumaraswamy", "mode"), ("Weibull", "mode"), ("GeneralizedPareto", "log_prob"),
         ("GeneralizedPareto", "cdf"), ("GeneralizedPareto", "expanded")}  # fmt: skip
# The upper triangle of a Cholesky factor is no parameter; PyTorch gives it a gradient nevertheless.
TRIANGULAR = {"scale_tril"}


def _parameters(case: Case, trial: int) -> dict[str, Any]:
    rng = np.random.default_rng(trial)
    made = {}
    for name, value in case.params.items():
        fixed = name in TOGETHER or (case.name, name) == ("Pareto", "scale")
        if trial and isinstance(value, np.ndarray) and not fixed:
            lead = (2,) if trial == 2 and value.ndim and case.name not in MULTIVARIATE else ()
            value = value * rng.uniform(0.7, 1.4, (*lead, *value.shape))
        made[name] = value
    return made


class Both:
    """A distribution in both libraries, with parameters that require grad."""

    def __init__(self, case: Case, dtype: str, trial: int = 0) -> None:
        self.dtype = dtype
        self.distributions: list[Any] = []
        self.leaves: list[dict[str, Any]] = []
        for module in (genesis, torch):
            leaves, params = {}, {}
            for name, value in _parameters(case, trial).items():
                if isinstance(value, np.ndarray):
                    value = module.tensor(value, dtype=getattr(module, dtype))
                    if name not in case.fixed:
                        leaves[name] = value.requires_grad_()
                params[name] = value
            self.distributions.append(getattr(module.distributions, case.name)(**params))
            self.leaves.append(leaves)

    def check(self, function: Any, what: str) -> None:
        results, errors = [], []
        for module, d in zip((genesis, torch), self.distributions, strict=True):
            try:
                results.append(function(module, d))
            except NotImplementedError as error:
                errors.append(error)
        assert len(errors) in (0, 2), f"{what}: only one library has it: {errors}"
        if not errors:
            self.compare(results, what)

    def compare(self, results: list[Any], what: str) -> None:
        ours, theirs = results
        rtol = RTOL[self.dtype]
        assert tuple(ours.shape) == tuple(theirs.shape), what
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
        close(ours, theirs, rtol, what)
        assert ours.requires_grad == theirs.requires_grad, what
        if not ours.requires_grad:
            return
        weights = np.random.default_rng(3).normal(size=tuple(ours.shape))
        found = []
        for module, y, leaves in zip((genesis, torch), results, self.leaves, strict=True):
            total = (y * module.tensor(weights, dtype=y.dtype)).sum()
            try:
                wanted = list(leaves.values())
                grads = module.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)
            except (RuntimeError, NotImplementedError) as error:  # igamma by its shape
                grads = error
            found.append(grads)
        failed = [isinstance(grads, Exception) for grads in found]
        assert failed[0] == failed[1], f"{what}: {found}"
        if failed[0]:
            return
        for name, g, t in zip(self.leaves[0], *found, strict=True):
            g = np.zeros(1) if g is None else g.numpy()
            t = np.zeros(1) if t is None else t.numpy()
            if name in TRIANGULAR:
                g, t = np.tril(g), np.tril(t)
            np.testing.assert_allclose(
                g, t, rtol=100 * rtol, atol=30 * rtol, err_msg=f"{what}: gradient of {name}"
            )


def close(ours: Any, theirs: Any, rtol: float, what: str) -> None:
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=rtol, err_msg=what
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trial", range(3))
@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in CASES])
def test_values_and_gradients(case: Case, trial: int, dtype: str) -> None:
    both = Both(case, dtype, trial)
    units = np.random.default_rng(trial).uniform(0.05, 0.95, case.value.shape)

    def value(module: Any) -> Any:
        floating = case.value.dtype == np.float64
        return module.tensor(case.value, dtype=getattr(module, dtype if floating else "int64"))

    checks = {
        "log_prob": lambda m, d: d.log_prob(value(m)),
        "cdf": lambda m, d: d.cdf(value(m)),
        "icdf": lambda m, d: d.icdf(m.tensor(units, dtype=getattr(m, dtype))),
        "entropy": lambda m, d: d.entropy(),
        "perplexity": lambda m, d: d.perplexity(),
        "mean": lambda m, d: d.mean,
        "variance": lambda m, d: d.variance,
        "stddev": lambda m, d: d.stddev,
        "mode": lambda m, d: d.mode,
        "expanded": lambda m, d: d.expand((2, *d.batch_shape)).log_prob(value(m)),
        "expanded mean": lambda m, d: d.expand((2, *d.batch_shape)).mean,
    }
    for name, function in checks.items():
        # The variance of ContinuousBernoulli cancels where probs is near 1/2.
        cancels = case.name == "ContinuousBernoulli" and dtype == "float32"
        if (case.name, name) not in WRONG and not (cancels and name in ("variance", "stddev")):
            both.check(function, name)
    ours, theirs = both.distributions
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    assert type(ours.support).__name__ == type(theirs.support).__name__
    if ours.has_enumerate_support:
        for expand in (True, False):
            close(ours.enumerate_support(expand), theirs.enumerate_support(expand), 0, "values")


@pytest.mark.parametrize("bad", [np.nan, -1.0, 0.0, np.inf])
@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in CASES])
def test_errors_name_the_parameter(case: Case, bad: float) -> None:
    for name, value in case.params.items():
        if not isinstance(value, np.ndarray):
            continue
        errors = []
        for module in (genesis, torch):
            params = {
                k: module.tensor(v * 0 + bad if k == name else v) if hasattr(v, "shape") else v
                for k, v in case.params.items()
            }
            try:
                getattr(module.distributions, case.name)(**params)
                errors.append(None)
            except Exception as error:
                errors.append(error)
        ours, theirs = errors
        if isinstance(theirs, ValueError):
            assert isinstance(ours, ValueError), (name, ours, theirs)
            assert name in str(ours), (name, ours)
            assert "constraint" in str(ours) or "must be" in str(ours), ours
        elif theirs is None:
            assert ours is None, (name, ours)


def _implicit() -> list[Any]:
    names = ("Gamma", "Beta", "Dirichlet", "StudentT", "Chi2", "InverseGamma", "FisherSnedecor")
    return [pytest.param(c, id=c.id) for c in CASES if c.name in names]


@pytest.mark.parametrize("case", _implicit())
def test_implicit_gradients_follow_the_samples(case: Case) -> None:
    """The gradient of a sample satisfies d/dp F(x; p) = 0, with F estimated from many samples."""
    genesis.manual_seed(0)
    torch.manual_seed(0)
    both = Both(case, "float64")
    found = []
    for module, d, leaves in zip((genesis, torch), both.distributions, both.leaves, strict=True):
        x = d.rsample((40000,))
        y = module.log1p(x.abs()).mean(0).sum()
        found.append([g.numpy() for g in module.autograd.grad(y, list(leaves.values()))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0.06, atol=0.012)


def test_gradients_of_gamma_and_dirichlet_variates() -> None:
    rng = np.random.default_rng(0)
    alpha = rng.uniform(0.05, 20, 400)
    x = rng.gamma(alpha)
    ours = genesis._C._standard_gamma_grad(genesis.tensor(alpha), genesis.tensor(x))
    theirs = torch._standard_gamma_grad(torch.tensor(alpha), torch.tensor(x))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-3, atol=1e-6)


def _transforms(m: Any) -> dict[str, Any]:
    t, d = m.distributions.transforms, m.distributions
    f64 = m.float64
    vector = m.tensor([0.5, -1.0, 2.0], dtype=f64)
    chain = [t.AffineTransform(1.0, 2.0), t.TanhTransform()]
    return {
        "Abs": t.AbsTransform(),
        "Affine": t.AffineTransform(vector, m.tensor([2.0, -0.5, 1.0], dtype=f64)),
        "Affine event": t.AffineTransform(0.5, vector, event_dim=1),
        "Cat": t.CatTransform([t.ExpTransform(), t.SigmoidTransform()], dim=-1, lengths=[1, 2]),
        "Compose": t.ComposeTransform(chain),
        "Compose vector": t.ComposeTransform([t.ExpTransform(), t.SoftmaxTransform()]),
        "CorrCholesky": t.CorrCholeskyTransform(),
        "CumulativeDistribution": t.CumulativeDistributionTransform(d.Normal(0.0, 2.0)),
        "Exp": t.ExpTransform(),
        "Independent": t.IndependentTransform(t.ExpTransform(), 1),
        "Inverse": t.ExpTransform().inv.inv,
        "LowerCholesky": t.LowerCholeskyTransform(),
        "PositiveDefinite": t.PositiveDefiniteTransform(),
        "Power": t.PowerTransform(m.tensor(1.7, dtype=f64)),
        "Power inverse": t.PowerTransform(m.tensor(-2.0, dtype=f64)),
        "Reshape": t.ReshapeTransform((3,), (1, 3)),
        "Sigmoid": t.SigmoidTransform(),
        "Softmax": t.SoftmaxTransform(),
        "Softplus": t.SoftplusTransform(),
        "Stack": t.StackTransform([t.ExpTransform(), t.SigmoidTransform(), chain[0]], dim=-1),
        "StickBreaking": t.StickBreakingTransform(),
        "Tanh": t.TanhTransform(),
        "identity": t.identity_transform,
    }


MATRICES = {"LowerCholesky", "PositiveDefinite"}
POSITIVE = {"Power", "Power inverse"}


def test_every_transform_is_compared() -> None:
    names = {"".join(name.split()[0]) for name in _transforms(genesis)}
    wanted = {
        name.removesuffix("Transform")
        for name in torch.distributions.transforms.__all__
        if name not in ("Transform", "identity_transform")
    }
    assert wanted <= names


@pytest.mark.parametrize("name", _transforms(genesis))
def test_transforms(name: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 3, 3) if name in MATRICES else (4, 3))
    x = np.abs(x) + 0.1 if name in POSITIVE else x
    found = []
    for m in (genesis, torch):
        t = _transforms(m)[name]
        a = m.tensor(x, dtype=m.float64).requires_grad_()
        y = t(a)
        results = {"y": y, "back": t.inv(y) if name != "Abs" else y}
        try:
            results["log_det"] = t.log_abs_det_jacobian(a, y)
        except NotImplementedError:
            results["log_det"] = None
        weights = m.tensor(np.random.default_rng(2).normal(size=tuple(y.shape)), dtype=m.float64)
        total = (y * weights).sum()
        if results["log_det"] is not None:
            total = total + results["log_det"].sin().sum()
        (results["grad"],) = m.autograd.grad(total, a, allow_unused=True)
        about = {
            "bijective": t.bijective,
            "sign": t.sign if t.bijective and name not in NO_SIGN else None,
            "dims": (t.domain.event_dim, t.codomain.event_dim),
            "forward": tuple(t.forward_shape((5, *x.shape))),
            "back": tuple(t.inverse_shape((5, *y.shape))),
            "equal": (t == t, t.inv == t.inv, t == m.distributions.ExpTransform()),
        }
        found.append((results, about))
    (ours, mine), (theirs, other) = found
    for key, value in theirs.items():
        if value is None:
            assert ours[key] is None, key
        else:
            assert tuple(ours[key].shape) == tuple(value.shape), key
            close(ours[key], value, 1e-9, key)
    sign, wanted = mine.pop("sign"), other.pop("sign")
    assert mine == other
    if wanted is not None:
        np.testing.assert_array_equal(np.asarray(sign), np.asarray(wanted))


# PyTorch defines none.
NO_SIGN = {"Cat", "Stack", "CorrCholesky", "LowerCholesky", "StickBreaking", "Reshape"}
NO_SIGN |= {"PositiveDefinite", "Independent"}


def _divergences(m: Any, dtype: str) -> dict[str, Any]:
    """Pairs of every registered rule, and the leaves that they depend on."""
    d, made = m.distributions, {}
    first: dict[str, Case] = {}
    for case in CASES:
        first.setdefault(case.name, case)

    def build(name: str, shift: bool) -> Any:
        leaves, params = [], {}
        for key, value in first[name].params.items():
            if isinstance(value, np.ndarray):
                if shift and key in ("probs", "loc"):
                    value = value[::-1].copy()
                elif shift and name != "Binomial":
                    value = value * 1.3
                value = m.tensor(value, dtype=getattr(m, dtype))
                if key not in first[name].fixed:
                    leaves.append(value.requires_grad_())
            params[key] = value
        return getattr(d, name)(**params), leaves

    for p, q in sorted((p.__name__, q.__name__) for p, q in m.distributions.kl._KL_REGISTRY):
        if p in first and q in first:
            (a, x), (b, y) = build(p, False), build(q, True)
            made[f"{p}-{q}"] = (a, b, x + y)
    (a, x), (b, y) = build("Normal", False), build("Normal", True)
    made["Independent"] = (d.Independent(a, 1), d.Independent(b, 1), x + y)
    chain = [d.ExpTransform()]
    made["Transformed"] = (
        d.TransformedDistribution(a, chain), d.TransformedDistribution(b, chain), x + y,
    )  # fmt: skip
    return made


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_registered_divergence(dtype: str) -> None:
    ours, theirs = _divergences(genesis, dtype), _divergences(torch, dtype)
    assert set(theirs) <= set(ours)
    for name in sorted(theirs):
        found = []
        for m, pair in ((genesis, ours[name]), (torch, theirs[name])):
            p, q, leaves = pair
            try:
                y = m.distributions.kl_divergence(p, q)
                finite = y.isfinite()
                total = m.where(finite, y, m.zeros_like(y)).sum()
                grads = (
                    m.autograd.grad(total, leaves, allow_unused=True)
                    if total.requires_grad
                    else [None] * len(leaves)
                )
                found.append((y, grads))
            except NotImplementedError as error:
                found.append(error)
        failed = [isinstance(f, Exception) for f in found]
        assert failed[0] == failed[1], (name, found)
        if failed[0]:
            continue
        (y, mine), (z, other) = found
        assert tuple(y.shape) == tuple(z.shape), name
        close(y, z, 10 * RTOL[dtype], name)
        for g, t in zip(mine, other, strict=True):
            a = np.zeros(1) if g is None else g.numpy()
            b = np.zeros(1) if t is None else t.numpy()
            if a.ndim >= 2 and a.shape[-1] == a.shape[-2]:  # see TRIANGULAR
                a, b = np.tril(a), np.tril(b)
            bound = 100 * RTOL[dtype]
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound, err_msg=name)


def test_constraints_agree() -> None:
    values = np.array([-2.0, -1.0, 0.0, 0.3, 1.0, 2.0, 5.0, np.inf, -np.inf, np.nan])
    names = [n for n in torch.distributions.constraints.__all__ if n[0].islower()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            ours = getattr(genesis.distributions.constraints, name)
            theirs = getattr(torch.distributions.constraints, name)
            assert isinstance(ours, type) == isinstance(theirs, type), name
            if isinstance(theirs, type) or not hasattr(theirs, "check"):
                continue
            try:
                want = theirs.check(torch.tensor(values))
                assert ours.event_dim == theirs.event_dim
            except (ValueError, RuntimeError, NotImplementedError, IndexError):  # of matrices
                continue
            got = ours.check(genesis.tensor(values))
            np.testing.assert_array_equal(got.numpy(), want.numpy(), err_msg=name)
            assert ours.is_discrete == theirs.is_discrete
            assert repr(ours) == repr(theirs)
