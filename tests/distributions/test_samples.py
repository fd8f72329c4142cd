"""Samples follow their distribution, have its shapes, and carry its gradients."""

from typing import Any

import genesis
import numpy as np
import pytest
from genesis import distributions
from genesis.distributions import Beta, Dirichlet, Gamma, StudentT
from scipy import stats

from tests.distributions.cases import CASES, Case
from tests.distributions.test_values import ALL, made

N = 4000


@pytest.mark.parametrize("case", ALL)
def test_shapes_and_supports(case: Case):
    d, _ = made(case)
    for sample_shape in [(), (5,), (2, 3), (0,)]:
        x = d.sample(sample_shape)
        assert x.shape == (*sample_shape, *d.batch_shape, *d.event_shape)
        assert not x.requires_grad
        assert d.support.check(x).all()
        assert d.log_prob(x).shape == (*sample_shape, *d.batch_shape)


@pytest.mark.parametrize("case", [p for p in ALL if p.values[0].scipy])
def test_samples_follow_the_distribution(case: Case):
    genesis.manual_seed(1)
    d, _ = made(case)
    x = d.sample((N,)).numpy().reshape(N, -1)
    reference = case.scipy(*case.params.values())
    parts = np.broadcast_to(np.zeros(()), case.value.shape).reshape(-1).size
    for i in range(0, parts, 2):
        parameters = (
            np.broadcast_to(v, case.value.shape).reshape(-1)[i] for v in case.params.values()
        )
        frozen = case.scipy(*parameters)
        if hasattr(reference.dist, "pmf"):
            low, high = frozen.ppf([0.001, 0.999])
            grid = np.arange(low, high + 1)
            expected = frozen.pmf(grid) * N
            kept = expected > 5
            observed = np.array([(x[:, i] == k).sum() for k in grid])
            rest = [N - observed[kept].sum()], [N - expected[kept].sum()]
            observed = np.concatenate([observed[kept], rest[0]])
            expected = np.concatenate([expected[kept], rest[1]])
            valid = expected > 1e-9
            assert stats.chisquare(observed[valid], expected[valid]).pvalue > 1e-5
        else:
            assert stats.kstest(x[:, i], frozen.cdf).pvalue > 1e-5


@pytest.mark.parametrize("case", ALL)
def test_moments_of_samples(case: Case):
    genesis.manual_seed(2)
    d, _ = made(case)
    try:
        mean, variance = d.mean.numpy(), d.variance.numpy()
    except NotImplementedError:
        return
    if case.name in ("VonMises", "Cauchy", "HalfCauchy", "Categorical"):
        return
    x = d.sample((20 * N,)).numpy()
    error = np.abs(x.mean(0) - mean) / np.sqrt(variance / (20 * N))
    assert (error < 5).all()


@pytest.mark.parametrize(
    "name", ["Gamma", "Beta", "Dirichlet", "StudentT", "Normal", "Laplace", "Weibull", "Gumbel"]
)
def test_gradients_of_samples_are_those_of_the_mean(name: str):
    """The expectation of d f(x) / d parameter is the derivative of the expectation of f(x)."""
    genesis.manual_seed(3)
    case = next(c for c in CASES if c.name == name)
    d, params = made(case, requires_grad=True)
    leaves = list(params.values())
    count = 50 * N
    expected = genesis.autograd.grad((d.mean**1).sum(), leaves, allow_unused=True)
    d, params = made(case, requires_grad=True)
    x = d.rsample((count,))
    grads = genesis.autograd.grad(x.mean(0).sum(), list(params.values()), allow_unused=True)
    for mine, exact in zip(grads, expected, strict=True):
        if exact is None or name == "StudentT":
            continue
        np.testing.assert_allclose(mine.numpy(), exact.numpy(), rtol=0.1, atol=0.02)


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 4.0, 30.0, 1e3, 1e6])
def test_a_gamma_variate_moves_with_its_shape_along_its_quantile(shape: float):
    from scipy.special import gammainc, gammaincinv

    genesis.manual_seed(4)
    a = genesis.full((200,), shape, dtype=genesis.float64, requires_grad=True)
    z = Gamma(a, 1.0).rsample()
    z.sum().backward()
    quantile = gammainc(shape, z.detach().numpy())
    step = shape * 1e-5
    slope = (gammaincinv(shape + step, quantile) - gammaincinv(shape - step, quantile)) / (2 * step)
    kept = (quantile > 1e-6) & (quantile < 1 - 1e-6)
    assert kept.sum() > 50
    np.testing.assert_allclose(a.grad.numpy()[kept], slope[kept], rtol=1e-4, atol=1e-9)


def test_small_concentrations_neither_underflow_nor_lose_gradients():
    genesis.manual_seed(5)
    a = genesis.full((1000, 3), 1e-3, requires_grad=True)
    x = Dirichlet(a).rsample()
    assert (x > 0).all() and genesis.isfinite(x).all()
    x[:, 0].sum().backward()
    assert genesis.isfinite(a.grad).all()
    assert (Gamma(a.detach(), 1.0).sample() > 0).all()


@pytest.mark.parametrize(
    "d",
    [
        Gamma(genesis.tensor(2.0), 1.0),
        Beta(2.0, genesis.tensor(3.0)),
        StudentT(genesis.tensor(3.0)),
    ],
    ids=lambda d: type(d).__name__,
)
def test_a_seed_gives_the_same_samples_for_any_number_of_threads(d: Any):
    before = genesis.get_num_threads()
    drawn = []
    try:
        for threads in (1, 2):
            genesis.set_num_threads(threads)
            genesis.manual_seed(6)
            drawn.append(d.sample((10000,)).numpy())
    finally:
        genesis.set_num_threads(before)
    np.testing.assert_array_equal(*drawn)


def test_straight_through_gradient():
    logits = genesis.randn(4, requires_grad=True)
    weights = genesis.arange(4.0)
    d = distributions.OneHotCategoricalStraightThrough(logits=logits)
    x = d.rsample()
    assert sorted(x.tolist()) == [0.0, 0.0, 0.0, 1.0]
    (x * weights).sum().backward()
    expected = genesis.autograd.grad((genesis.softmax(logits, -1) * weights).sum(), logits)[0]
    np.testing.assert_allclose(logits.grad.numpy(), expected.numpy(), atol=1e-6)
