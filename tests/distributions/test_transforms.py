"""Distributions inside vmap, and what validation says about each parameter."""

import genesis
import genesis.distributions as D
import numpy as np
import pytest
from genesis.func import grad, vmap

from tests.distributions.cases import CASES

IDS = [case.id for case in CASES]


def _parts(case):
    """The parameters and the value by their first dimension, of those that have it in common."""
    size = np.shape(case.value)[0] if np.ndim(case.value) else 0
    mapped = {k: v for k, v in case.params.items() if np.ndim(v) and np.shape(v)[0] == size}
    return size, mapped, {k: v for k, v in case.params.items() if k not in mapped}


def _tensors(params):
    return {k: genesis.tensor(v) if isinstance(v, np.ndarray) else v for k, v in params.items()}


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_log_prob_and_its_gradient_under_vmap(case):
    size, mapped, shared = _parts(case)
    if not mapped:
        pytest.skip("no parameter has the first dimension of the value")
    params, others, value = _tensors(mapped), _tensors(shared), genesis.tensor(case.value)

    def log_prob(p, x):
        return getattr(D, case.name)(**p, **others).log_prob(x).sum()

    floating = {k: v for k, v in params.items() if v.is_floating_point() and k not in case.fixed}
    rest = {k: v for k, v in params.items() if k not in floating}

    def gradient(p, q, x):
        return grad(lambda p: log_prob({**p, **q}, x))(p)

    found = vmap(log_prob)(params, value)
    slopes = vmap(gradient)(floating, rest, value)
    for i in range(size):
        one = {k: v[i] for k, v in params.items()}
        np.testing.assert_allclose(found[i].numpy(), log_prob(one, value[i]).numpy(), rtol=1e-6)
        expected = gradient(
            {k: v[i] for k, v in floating.items()}, {k: v[i] for k, v in rest.items()}, value[i]
        )
        for k, g in expected.items():
            np.testing.assert_allclose(slopes[k][i].numpy(), g.numpy(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_samples_under_vmap(case):
    _, mapped, shared = _parts(case)
    if not mapped:
        pytest.skip("no parameter has the first dimension of the value")
    params, others = _tensors(mapped), _tensors(shared)

    def sample(p):
        return getattr(D, case.name)(**p, **others).sample((4,))

    whole = getattr(D, case.name)(**params, **others).sample((4,))
    drawn = vmap(sample, randomness="different", out_dims=1)(params)
    assert drawn.shape == whole.shape
    with pytest.raises(RuntimeError, match="random"):
        vmap(sample)(params)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_bad_parameter_is_named_with_its_constraint(case):
    made = getattr(D, case.name)
    constraints = made(**_tensors(case.params)).arg_constraints
    for name, value in case.params.items():
        constraint = constraints.get(name)
        if constraint is None or D.constraints.is_dependent(constraint):
            continue
        array = np.array(value, dtype=float)
        array[...] = np.nan
        bad = {**_tensors(case.params), name: genesis.tensor(array)}
        with pytest.raises(ValueError, match=rf"(?s)[A-Z]\w+: .*{name}") as error:
            made(**bad, validate_args=True)
        words = str(constraint).lower().replace("(", " ").split()
        assert "constraint" in str(error.value) or words[0] in str(error.value).lower()
        made(**bad, validate_args=False)
