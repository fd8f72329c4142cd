"""log_prob, entropy, cdf, icdf and moments against SciPy, and with gradients against PyTorch."""

from typing import Any

import genesis
import numpy as np
import pytest
from genesis import distributions

from tests.distributions.cases import CASES, Case

ALL = [pytest.param(case, id=case.id) for case in CASES]


def made(case: Case, module: Any = genesis, requires_grad: bool = False) -> Any:
    """The distribution of `case` in Genesis or in PyTorch, and its parameters."""
    params = {}
    for name, value in case.params.items():
        if isinstance(value, np.ndarray):
            grad = requires_grad and name not in case.fixed
            value = module.tensor(value, dtype=module.float64).requires_grad_(grad)
        params[name] = value
    return getattr(module.distributions, case.name)(**params), params


def values(case: Case, module: Any = genesis) -> Any:
    dtype = module.float64 if case.value.dtype == np.float64 else module.int64
    return module.tensor(case.value, dtype=dtype)


def test_there_is_a_case_for_every_distribution():
    missing = {
        name
        for name in distributions.__all__
        if isinstance(kind := getattr(distributions, name), type)
        and issubclass(kind, distributions.Distribution)
    }
    missing -= {case.name for case in CASES}
    missing -= {"Distribution", "ExponentialFamily", "Independent", "TransformedDistribution"}
    assert missing == {"MixtureSameFamily"}  # test_composed.py


@pytest.mark.parametrize("case", [p for p in ALL if p.values[0].scipy])
def test_against_scipy(case: Case):
    d, _ = made(case)
    reference = case.scipy(*case.params.values())
    value = values(case)
    log = getattr(reference, "logpmf" if hasattr(reference.dist, "pmf") else "logpdf")
    np.testing.assert_allclose(d.log_prob(value).numpy(), log(case.value), rtol=1e-9, atol=1e-12)
    if case.cdf:
        np.testing.assert_allclose(d.cdf(value).numpy(), reference.cdf(case.value), rtol=1e-8)
    if case.icdf:
        p = genesis.tensor(np.full(case.value.shape, 0.3), dtype=genesis.float64)
        np.testing.assert_allclose(d.icdf(p).numpy(), reference.ppf(0.3), rtol=1e-8)
    if case.name not in ("VonMises", "Cauchy"):  # circular moments; none
        np.testing.assert_allclose(d.mean.numpy(), reference.mean(), rtol=1e-7)
        np.testing.assert_allclose(d.variance.numpy(), reference.var(), rtol=1e-7)
    if type(d).entropy is not distributions.Distribution.entropy and case.name != "Poisson":
        np.testing.assert_allclose(d.entropy().detach().numpy(), reference.entropy(), rtol=1e-6)


@pytest.fixture
def torch():
    """PyTorch with a default of float64, which its GeneralizedPareto needs for parameters of float64."""
    module = pytest.importorskip("torch")
    module.set_default_dtype(module.float64)
    yield module
    module.set_default_dtype(module.float32)


@pytest.mark.parametrize("case", ALL)
def test_against_pytorch_with_gradients(case: Case, torch: Any):
    ours, params = made(case, requires_grad=True)
    theirs, their_params = made(case, torch, requires_grad=True)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample
    assert repr(ours).split("(")[0] == repr(theirs).split("(")[0]

    results = {"log_prob": lambda d, m: d.log_prob(values(case, m))}
    for name in ("mean", "mode", "variance", "stddev"):
        results[name] = lambda d, m, name=name: getattr(d, name)
    results["entropy"] = lambda d, m: d.entropy()
    if case.cdf:
        results["cdf"] = lambda d, m: d.cdf(values(case, m))
    if case.icdf:
        results["icdf"] = lambda d, m: d.icdf(
            m.tensor(np.full(case.value.shape, 0.3), dtype=m.float64)
        )
    if case.name == "Kumaraswamy":  # PyTorch's is NaN
        del results["mode"]
    for name, result in results.items():
        try:
            expected = result(theirs, torch)
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                result(ours, genesis)
            continue
        actual = result(ours, genesis)
        assert tuple(actual.shape) == tuple(expected.shape), name
        np.testing.assert_allclose(
            actual.detach().numpy(), expected.detach().numpy(), rtol=2e-7, atol=1e-9, err_msg=name
        )
        if not expected.requires_grad or name == "mode":
            continue
        leaves = [p for p in params.values() if getattr(p, "requires_grad", False)]
        their_leaves = [p for p in their_params.values() if getattr(p, "requires_grad", False)]
        try:
            expected_grads = torch.autograd.grad(
                expected.sum(), their_leaves, allow_unused=True, retain_graph=True
            )
        except RuntimeError as error:  # PyTorch has no derivative of igamma by the shape
            assert "igamma" in str(error)
            continue
        grads = genesis.autograd.grad(actual.sum(), leaves, allow_unused=True, retain_graph=True)
        for leaf, mine, his in zip(params, grads, expected_grads, strict=False):
            mine = np.zeros(()) if mine is None else mine.numpy()
            his = np.zeros(()) if his is None else his.numpy()
            if leaf == "scale_tril" and mine.ndim:  # what is above the diagonal is no parameter
                mine, his = np.tril(mine), np.tril(his)
            np.testing.assert_allclose(mine, his, rtol=1e-5, atol=1e-7, err_msg=f"{name} by {leaf}")


@pytest.mark.parametrize("case", ALL)
def test_expand(case: Case):
    d, _ = made(case)
    shape = (4, *d.batch_shape)
    wide = d.expand(shape)
    assert type(wide) is type(d)
    assert tuple(wide.batch_shape) == shape and wide.event_shape == d.event_shape
    value = values(case)
    assert wide.sample().shape == (*shape, *d.event_shape)
    np.testing.assert_allclose(
        wide.log_prob(value).numpy(), np.broadcast_to(d.log_prob(value).numpy(), shape), rtol=1e-12
    )
    try:
        mean = d.mean
    except NotImplementedError:
        return
    np.testing.assert_allclose(wide.mean.numpy(), np.broadcast_to(mean.numpy(), wide.mean.shape))


@pytest.mark.parametrize("case", ALL)
def test_log_prob_has_right_gradients(case: Case):
    _, params = made(case, requires_grad=True)
    leaves = {name: p for name, p in params.items() if getattr(p, "requires_grad", False)}
    value = values(case)

    def f(*tensors: Any) -> Any:
        given = {**params, **dict(zip(leaves, tensors, strict=True))}
        kind = getattr(distributions, case.name)
        return kind(**given, validate_args=False).log_prob(value)

    if set(leaves) & {"covariance_matrix", "precision_matrix", "scale_tril"}:
        return  # perturbed matrices are not symmetric; compared with PyTorch above
    assert genesis.autograd.gradcheck(f, tuple(leaves.values()), atol=1e-5, rtol=1e-3)
