"""Mixtures, independent and transformed distributions, transforms, constraints, validation."""

from typing import Any

import genesis
import numpy as np
import pytest
from genesis import distributions
from genesis.distributions import (
    AffineTransform,
    Beta,
    Categorical,
    ExpTransform,
    Independent,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    Uniform,
    biject_to,
    constraints,
    transform_to,
    transforms,
)

F64 = genesis.float64


def _tensor(values: Any) -> Any:
    return genesis.tensor(np.asarray(values), dtype=F64)


# ---- mixtures ----


def _mixture(module: Any) -> Any:
    d = module.distributions
    return d.MixtureSameFamily(
        d.Categorical(logits=module.tensor([[0.1, 0.7, -0.2]] * 2)),
        d.Normal(module.tensor([[-1.0, 0.0, 2.0]] * 2), module.tensor([[0.5, 1.0, 0.3]] * 2)),
    )


def test_mixture_against_pytorch():
    torch = pytest.importorskip("torch")
    ours, theirs = _mixture(genesis), _mixture(torch)
    x = [[0.3, -0.5]] * 3
    for name in ("log_prob", "cdf"):
        mine, his = getattr(ours, name)(genesis.tensor(x)), getattr(theirs, name)(torch.tensor(x))
        np.testing.assert_allclose(mine.numpy(), his.numpy(), rtol=1e-5)
    np.testing.assert_allclose(ours.mean.numpy(), theirs.mean.numpy(), rtol=1e-5)
    np.testing.assert_allclose(ours.variance.numpy(), theirs.variance.numpy(), rtol=1e-5)
    assert ours.sample((7,)).shape == (7, 2)
    assert ours.expand((4, 2)).log_prob(genesis.tensor(x[0])).shape == (4, 2)


def test_mixture_of_vectors():
    d = MixtureSameFamily(
        Categorical(probs=genesis.ones(3)),
        Independent(Normal(genesis.zeros(3, 2), genesis.ones(3, 2)), 1),
    )
    assert d.event_shape == (2,) and d.batch_shape == ()
    assert d.log_prob(genesis.zeros(2)).item() == pytest.approx(-1.837877)
    assert d.sample((5,)).shape == (5, 2)
    with pytest.raises(ValueError, match="3 categories.*2 components"):
        MixtureSameFamily(Categorical(probs=genesis.ones(3)), Normal(genesis.zeros(2), 1.0))


# ---- transforms ----

VECTOR = np.array([[0.3, -0.7, 1.1], [0.2, 0.5, -0.4]])
MONOTONIC = {
    "exp": (transforms.ExpTransform(), VECTOR),
    "power": (transforms.PowerTransform(_tensor(2.5)), np.abs(VECTOR)),
    "sigmoid": (transforms.SigmoidTransform(), VECTOR),
    "softplus": (transforms.SoftplusTransform(), VECTOR),
    "tanh": (transforms.TanhTransform(), VECTOR),
    "affine": (transforms.AffineTransform(_tensor(1.0), _tensor(-2.0)), VECTOR),
    "cdf": (transforms.CumulativeDistributionTransform(Normal(_tensor(0.0), _tensor(1.0))), VECTOR),
    "compose": (transforms.ComposeTransform([AffineTransform(0.5, 2.0), ExpTransform()]), VECTOR),
}


@pytest.mark.parametrize("name", MONOTONIC)
def test_elementwise_transforms(name: str):
    t, x = MONOTONIC[name]
    x = _tensor(x).requires_grad_()
    y = t(x)
    np.testing.assert_allclose(t.inv(y).detach().numpy(), x.detach().numpy(), rtol=1e-6, atol=1e-9)
    (slope,) = genesis.autograd.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(
        t.log_abs_det_jacobian(x, y).detach().numpy(),
        slope.abs().log().detach().numpy(),
        rtol=1e-6,
        atol=1e-9,
    )
    np.testing.assert_array_equal(
        np.broadcast_to(np.sign(slope.detach().numpy()), x.shape), np.broadcast_to(t.sign, x.shape)
    )
    assert t.inv.inv is t and t.codomain.check(y).all()
    assert t.forward_shape(x.shape) == y.shape and t.inverse_shape(y.shape) == x.shape


@pytest.mark.parametrize(
    "t",
    [transforms.StickBreakingTransform(), transforms.CorrCholeskyTransform()],
    ids=lambda t: type(t).__name__,
)
def test_transforms_of_vectors_have_the_determinant_of_their_jacobian(t: Any):
    x = _tensor([0.3, -0.7, 1.1])
    y = t(x)
    np.testing.assert_allclose(t.inv(y).numpy(), x.numpy(), rtol=1e-8)
    assert t.codomain.check(y).all()

    def free(x: Any) -> Any:  # as many numbers of y as there are degrees of freedom
        y = t(x)
        return y[..., :-1] if y.dim() == 1 else distributions.utils.tril_matrix_to_vec(y, -1)

    jacobian = genesis.autograd.functional.jacobian(free, x)
    expected = np.linalg.slogdet(jacobian.numpy())[1]
    assert t.log_abs_det_jacobian(x, y).item() == pytest.approx(expected, rel=1e-8)
    assert t.forward_shape((4, 3)) == (4, *y.shape) and t.inverse_shape((4, *y.shape)) == (4, 3)


def test_other_transforms():
    x = _tensor(VECTOR)
    softmax = transforms.SoftmaxTransform()
    np.testing.assert_allclose(softmax(softmax.inv(softmax(x))).numpy(), softmax(x).numpy())
    assert not softmax.bijective
    matrix = genesis.randn(3, 3, dtype=F64)
    assert constraints.lower_cholesky.check(transforms.LowerCholeskyTransform()(matrix)).all()
    definite = transforms.PositiveDefiniteTransform()(matrix)
    assert constraints.positive_definite.check(definite).all()
    again = transforms.PositiveDefiniteTransform().inv(definite)
    np.testing.assert_allclose(again.tril().numpy(), matrix.tril().numpy(), rtol=1e-5, atol=1e-6)
    reshape = transforms.ReshapeTransform((2, 3), (6,))
    assert reshape(x).shape == (6,) and reshape.inv(reshape(x)).shape == (2, 3)
    assert reshape.log_abs_det_jacobian(x, reshape(x)).shape == ()
    cat = transforms.CatTransform(
        [ExpTransform(), AffineTransform(0.0, 2.0)], dim=1, lengths=[1, 2]
    )
    np.testing.assert_allclose(
        cat(x).numpy(), np.concatenate([np.exp(VECTOR[:, :1]), VECTOR[:, 1:] * 2], 1)
    )
    np.testing.assert_allclose(cat.inv(cat(x)).numpy(), VECTOR)
    stack = transforms.StackTransform([ExpTransform(), AffineTransform(0.0, 2.0)], dim=0)
    np.testing.assert_allclose(stack(x).numpy(), np.stack([np.exp(VECTOR[0]), VECTOR[1] * 2]))
    np.testing.assert_allclose(stack.inv(stack(x)).numpy(), VECTOR)
    with pytest.raises(ValueError, match="different numbers of elements"):
        transforms.ReshapeTransform((2,), (3,))


def test_a_cache_makes_the_inverse_exact_and_free():
    t = transforms.SigmoidTransform(cache_size=1)
    x = genesis.tensor([40.0])  # whose sigmoid rounds to 1
    assert t.inv(t(x)) is x
    with pytest.raises(ValueError, match="cache_size"):
        transforms.ExpTransform(cache_size=2)


def test_transformed_distribution():
    d = TransformedDistribution(Normal(_tensor([0.0, 0.5]), _tensor(1.0)), [ExpTransform()])
    reference = distributions.LogNormal(_tensor([0.0, 0.5]), _tensor(1.0))
    x = _tensor([0.7, 2.0])
    np.testing.assert_allclose(d.log_prob(x).numpy(), reference.log_prob(x).numpy())
    np.testing.assert_allclose(d.cdf(x).numpy(), reference.cdf(x).numpy())
    np.testing.assert_allclose(d.icdf(d.cdf(x)).numpy(), x.numpy(), rtol=1e-6)
    falling = TransformedDistribution(Uniform(0.0, 1.0), AffineTransform(0.0, -2.0))
    assert falling.cdf(genesis.tensor(-0.5)).item() == pytest.approx(0.75)
    wide = TransformedDistribution(
        Normal(0.0, 1.0), AffineTransform(genesis.zeros(3), genesis.ones(3))
    )
    assert wide.batch_shape == (3,) and wide.sample().shape == (3,)
    matrix = TransformedDistribution(
        Normal(genesis.zeros(2, 6), 1.0), transforms.ReshapeTransform((6,), (2, 3))
    )
    assert matrix.event_shape == (2, 3) and matrix.batch_shape == (2,)
    assert matrix.log_prob(matrix.sample((4,))).shape == (4, 2)


# ---- constraints ----

CONSTRAINED = {
    "positive": constraints.positive,
    "nonnegative": constraints.nonnegative,
    "greater_than": constraints.greater_than(2.0),
    "less_than": constraints.less_than(-1.0),
    "unit_interval": constraints.unit_interval,
    "interval": constraints.interval(-2.0, 5.0),
    "half_open_interval": constraints.half_open_interval(1.0, 2.0),
    "real": constraints.real,
    "real_vector": constraints.real_vector,
    "simplex": constraints.simplex,
    "independent": constraints.independent(constraints.positive, 1),
    "corr_cholesky": constraints.corr_cholesky,
    "cat": constraints.cat([constraints.positive, constraints.real], -1, [1, 2]),
    "stack": constraints.stack([constraints.positive, constraints.real], 0),
}


@pytest.mark.parametrize("name", CONSTRAINED)
@pytest.mark.parametrize("registry", [biject_to, transform_to], ids=["biject_to", "transform_to"])
def test_registry(name: str, registry: Any):
    constraint = CONSTRAINED[name]
    t = registry(constraint)
    x = _tensor(VECTOR)
    y = t(x)
    assert constraint.check(y).all()
    if registry is biject_to:
        assert t.bijective
        np.testing.assert_allclose(t.inv(y).numpy(), VECTOR, rtol=1e-6, atol=1e-8)


def test_registry_names_what_is_missing():
    with pytest.raises(NotImplementedError, match="Boolean.*register"):
        biject_to(constraints.boolean)
    with pytest.raises(TypeError, match="register"):
        biject_to.register(3, lambda c: None)


CHECKS = [
    (constraints.boolean, [0.0, 1.0, 0.5], [True, True, False]),
    (constraints.nonnegative_integer, [0.0, 3.0, 1.5, -1.0], [True, True, False, False]),
    (constraints.positive_integer, [0.0, 3.0], [False, True]),
    (
        constraints.integer_interval(1, 3),
        [0.0, 1.0, 3.0, 4.0, 1.5],
        [False, True, True, False, False],
    ),
    (constraints.real, [0.0, float("inf"), float("nan")], [True, True, False]),
    (constraints.positive, [0.0, 1.0], [False, True]),
    (constraints.nonnegative, [0.0, -1.0], [True, False]),
    (constraints.half_open_interval(0.0, 1.0), [0.0, 1.0], [True, False]),
    (constraints.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]], [True, False, False]),
    (constraints.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], [True, False, False]),
    (constraints.multinomial(3), [[1.0, 2.0], [3.0, 1.0]], [True, False]),
    (
        constraints.lower_triangular,
        [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]],
        [True, False],
    ),
    (
        constraints.lower_cholesky,
        [[[1.0, 0.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]],
        [True, False],
    ),
    (constraints.symmetric, [[[1.0, 2.0], [2.0, 0.0]], [[1.0, 1.0], [0.0, 1.0]]], [True, False]),
    (
        constraints.positive_definite,
        [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]],
        [True, False],
    ),
    (
        constraints.positive_semidefinite,
        [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, -1.0]]],
        [True, False],
    ),
    (constraints.square, [[[1.0, 0.0], [0.0, 0.0]]], [True]),
]


@pytest.mark.parametrize(
    ("constraint", "values", "valid"),
    CHECKS,
    ids=lambda v: repr(v) if isinstance(v, constraints.Constraint) else "",
)
def test_checks(constraint: Any, values: Any, valid: Any):
    assert constraint.check(genesis.tensor(values)).tolist() == valid


# ---- validation and shapes ----


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0.0, -1.0), r"Normal: expected parameter scale .*GreaterThan\(lower_bound=0.0\).*-1"),
        (lambda: Normal(genesis.tensor([0.0, float("nan")]), 1.0), r"parameter loc .*shape \(2,\).*Real\(\)"),
        (lambda: Uniform(1.0, 0.0), "Uniform: low must be below high"),
        (lambda: distributions.Bernoulli(), "Bernoulli: pass either probs or logits"),
        (lambda: distributions.Bernoulli(probs=0.5, logits=0.0), "pass either probs or logits"),
        (lambda: distributions.Bernoulli(probs=1.5), "parameter probs.*Interval"),
        (lambda: Categorical(probs=genesis.tensor(1.0)), "Categorical: probs must have at least one dimension"),
        (lambda: MultivariateNormal(genesis.zeros(2)), "exactly one of.*none"),
        (lambda: MultivariateNormal(genesis.zeros(2), -genesis.eye(2)), "covariance_matrix.*PositiveDefinite"),
        (lambda: Independent(Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims must be between 0 and 0"),
        (lambda: distributions.Wishart(1.0, genesis.eye(3)), "df must be above 2"),
        (lambda: Normal("x", 1.0), "must be a Tensor or a number, got str"),
        (lambda: Normal(genesis.zeros(2), genesis.ones(3)), r"\(2,\).*\(3,\)"),
        (lambda: Normal(0.0, 1.0).log_prob(genesis.tensor(float("nan"))), "Normal: expected value.*support Real"),
        (lambda: Normal(0.0, 1.0).log_prob(1.0), "Normal: the value must be a Tensor, got float"),
        (lambda: Normal(genesis.zeros(2), 1.0).log_prob(genesis.zeros(3)), r"\(3,\), which does not broadcast to \(2,\)"),
        (lambda: Beta(1.0, 1.0).log_prob(genesis.tensor(2.0)), "Beta: expected value.*Interval"),
    ],
)  # fmt: skip
def test_errors_name_the_parameter_and_its_constraint(make: Any, message: str):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        make()


def test_validation_can_be_turned_off():
    assert Normal(0.0, -1.0, validate_args=False).scale == -1
    distributions.Distribution.set_default_validate_args(False)
    try:
        Normal(0.0, -1.0)
    finally:
        distributions.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="True or False"):
        distributions.Distribution.set_default_validate_args("no")


def test_what_has_no_closed_form_says_so():
    with pytest.raises(NotImplementedError, match="Beta has no cdf"):
        Beta(1.0, 1.0).cdf(genesis.tensor(0.5))
    with pytest.raises(NotImplementedError, match="Poisson.rsample"):
        distributions.Poisson(genesis.ones(2)).rsample()


def test_a_subclass_with_its_own_init_must_define_expand():
    class Mine(Normal):
        def __init__(self, loc: Any) -> None:
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match=r"Mine\.expand"):
        Mine(0.0).expand((2,))


def test_enumerate_support():
    assert distributions.Bernoulli(probs=genesis.ones(2) / 2).enumerate_support().tolist() == [
        [0, 0],
        [1, 1],
    ]
    assert Categorical(probs=genesis.ones(3)).enumerate_support().tolist() == [0, 1, 2]
    assert distributions.Binomial(2, probs=genesis.ones(1) / 2).enumerate_support(
        False
    ).tolist() == [[0], [1], [2]]
    one_hot = distributions.OneHotCategorical(probs=genesis.ones(4, 3))
    assert one_hot.enumerate_support().shape == (3, 4, 3)


def test_repr():
    assert repr(Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert (
        repr(Normal(genesis.zeros(2), 1.0))
        == "Normal(loc: genesis.Size([2]), scale: genesis.Size([2]))"
    )
    assert repr(Independent(Normal(genesis.zeros(2), 1.0), 1)).startswith("Independent(Normal(")


def test_a_policy_gradient_and_a_variational_step():
    logits = genesis.zeros(3, requires_grad=True)
    d = Categorical(logits=logits)
    (-d.log_prob(genesis.tensor(1)) * 2.0).backward()
    np.testing.assert_allclose(logits.grad.numpy(), [2 / 3, -4 / 3, 2 / 3], rtol=1e-5)
    loc, log_scale = genesis.zeros(2, requires_grad=True), genesis.zeros(2, requires_grad=True)
    q = Normal(loc, log_scale.exp())
    elbo = -distributions.kl_divergence(q, Normal(0.0, 1.0)).sum() - (q.rsample() - 3).pow(2).sum()
    (-elbo).backward()
    assert (loc.grad < 0).all() and log_scale.grad is not None
