"""Divergences: every pair of PyTorch's registry, against PyTorch and against samples."""

from typing import Any

import genesis
import numpy as np
import pytest
from genesis import distributions
from genesis.distributions import Normal, kl_divergence, register_kl
from genesis.distributions.kl import _KL_REGISTRY

from tests.distributions.cases import CASES
from tests.distributions.test_values import made

FIRST = {}
for _case in CASES:
    FIRST.setdefault(_case.name, _case)


def _pairs() -> list[Any]:
    names = {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}
    return sorted(pair for pair in names if all(name in FIRST for name in pair))


def _both(p: str, q: str, module: Any) -> Any:
    first, _ = made(FIRST[p], module)
    second, _ = made(FIRST[q], module)
    if p == q:  # other parameters of the same family
        second = first.expand((2, *first.batch_shape)) if p == "Binomial" else _shifted(p, module)
    return first, second


def _shifted(name: str, module: Any) -> Any:
    params = {}
    for key, value in FIRST[name].params.items():
        if isinstance(value, np.ndarray) and key in ("probs", "loc"):
            value = value[::-1].copy()
        elif isinstance(value, np.ndarray):
            value = value * 1.3
        params[key] = (
            module.tensor(value, dtype=module.float64) if isinstance(value, np.ndarray) else value
        )
    return getattr(module.distributions, name)(**params)


def test_every_pair_of_pytorch_is_there():
    torch = pytest.importorskip("torch")
    theirs = {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}
    ours = {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}
    assert theirs <= ours


@pytest.mark.parametrize(("p", "q"), _pairs())
def test_against_pytorch(p: str, q: str):
    torch = pytest.importorskip("torch")
    expected = torch.distributions.kl_divergence(*_both(p, q, torch))
    actual = kl_divergence(*_both(p, q, genesis))
    assert tuple(actual.shape) == tuple(expected.shape)
    np.testing.assert_allclose(
        actual.detach().numpy(), expected.detach().numpy(), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    ("p", "q"), [pair for pair in _pairs() if pair[0] != "Poisson" or pair[1] == "Poisson"]
)
def test_against_samples(p: str, q: str, monkeypatch: Any):
    genesis.manual_seed(0)
    first, second = _both(p, q, genesis)
    exact = kl_divergence(first, second).detach().numpy()
    finite = np.isfinite(exact)
    if not finite.any():
        return
    monkeypatch.setattr(distributions.Distribution, "_validate_args", False)
    first, second = _both(p, q, genesis)
    x = first.sample((20000, *(1,) * (exact.ndim - len(first.batch_shape))))
    ratio = (first.log_prob(x) - second.log_prob(x)).numpy()[:, finite]
    error = ratio.std(0) / np.sqrt(len(ratio))
    assert (np.abs(ratio.mean(0) - exact[finite]) < 6 * error + 1e-6).all()


def test_gradients():
    loc = genesis.tensor([0.5], requires_grad=True)
    kl_divergence(Normal(loc, 1.0), Normal(genesis.zeros(1), 2.0)).sum().backward()
    assert loc.grad.item() == pytest.approx(0.5 / 4)


def test_the_most_derived_pair_is_used_and_can_be_registered():
    class Mine(Normal):
        pass

    standard = Normal(0.0, 1.0)
    assert kl_divergence(Mine(0.0, 1.0), standard) == 0

    @register_kl(Mine, Normal)
    def divergence(p: Any, q: Any) -> Any:
        return genesis.tensor(7.0)

    try:
        assert kl_divergence(Mine(0.0, 1.0), standard) == 7
        assert kl_divergence(standard, standard) == 0
    finally:
        del _KL_REGISTRY[Mine, Normal]
        distributions.kl._dispatch.cache_clear()


def test_what_is_not_registered_says_so():
    with pytest.raises(NotImplementedError, match="Normal and Categorical.*register_kl"):
        kl_divergence(Normal(0.0, 1.0), distributions.Categorical(probs=genesis.ones(3)))
    with pytest.raises(TypeError, match="type_p"):
        register_kl(3, Normal)
