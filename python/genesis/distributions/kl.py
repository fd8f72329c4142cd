"""Kullback-Leibler divergences of pairs of distributions.

>>> from genesis.distributions import Normal
>>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
tensor(0.5000)

Most pairs follow from KL(p || q) = -H(p) - E_p[log q], where the density q needs only a few
expectations under p: of x, x**2, log x, log(1 - x), exp(-x / s). Those are the functions at the
start.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import genesis
from genesis import Tensor
from genesis._missing import explain
from genesis.distributions.bernoulli import Bernoulli
from genesis.distributions.beta import Beta
from genesis.distributions.binomial import Binomial
from genesis.distributions.categorical import Categorical
from genesis.distributions.cauchy import Cauchy
from genesis.distributions.continuous_bernoulli import ContinuousBernoulli
from genesis.distributions.dirichlet import Dirichlet
from genesis.distributions.distribution import Distribution
from genesis.distributions.exp_family import ExponentialFamily
from genesis.distributions.exponential import Exponential
from genesis.distributions.gamma import Gamma
from genesis.distributions.geometric import Geometric
from genesis.distributions.gumbel import Gumbel
from genesis.distributions.half_normal import HalfNormal
from genesis.distributions.independent import Independent
from genesis.distributions.laplace import Laplace
from genesis.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _lowrank_logdet,
)
from genesis.distributions.multivariate_normal import (
    MultivariateNormal,
    _batch_mahalanobis,
    _half_log_det,
)
from genesis.distributions.normal import Normal
from genesis.distributions.one_hot_categorical import OneHotCategorical
from genesis.distributions.pareto import Pareto
from genesis.distributions.poisson import Poisson
from genesis.distributions.transformed_distribution import TransformedDistribution
from genesis.distributions.uniform import Uniform
from genesis.distributions.utils import all_true, euler_constant, sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]
F = TypeVar("F", bound=Divergence)

_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[F], F]:
    """A decorator that registers a function as the divergence of a pair of classes.

    Of several that fit, the one of the most derived classes is used.
    """
    for role, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl: {role} must be a class of distributions, got {kind!r}")

    def decorator(function: F) -> F:
        _KL_REGISTRY[type_p, type_q] = function
        _dispatch.cache_clear()
        return function

    return decorator


@functools.cache
def _dispatch(type_p: type, type_q: type) -> Divergence | None:
    fitting = [
        pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])
    ]
    if not fitting:
        return None

    def distance(pair: tuple[type, type]) -> tuple[int, int]:
        return type_p.__mro__.index(pair[0]), type_q.__mro__.index(pair[1])

    return _KL_REGISTRY[min(fitting, key=distance)]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), the expectation under p of log p(x) - log q(x), one for each element of the
    batch.
    """
    kinds: tuple[Any, Any] = (type(p), type(q))
    function = _dispatch(*kinds)
    if function is None:
        raise NotImplementedError(
            f"kl_divergence: no divergence is registered for {type(p).__name__} and "
            f"{type(q).__name__}; "
            "add one with register_kl"
        )
    return function(p, q)


# ---- expectations under p ----


def _mean_log(p: Any) -> Tensor:
    """E[log x]."""
    if isinstance(p, Beta):
        return genesis.digamma(p.concentration1) - genesis.digamma(
            p.concentration1 + p.concentration0
        )
    if isinstance(p, Gamma):
        return genesis.digamma(p.concentration) - p.rate.log()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _uniform_mean_log(p.low, p.high)


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    return (genesis.xlogy(high, high) - genesis.xlogy(low, low)) / (high - low) - 1


def _mean_log1m(p: Any) -> Tensor:
    """E[log(1 - x)] of numbers of [0, 1]."""
    if isinstance(p, Beta):
        return genesis.digamma(p.concentration0) - genesis.digamma(
            p.concentration1 + p.concentration0
        )
    return _uniform_mean_log(1 - p.high, 1 - p.low)


def _mean_exp(p: Any, scale: Tensor) -> Tensor:
    """E[exp(-x / scale)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + scale.reciprocal())
    if isinstance(p, Gamma):
        return (1 + (scale * p.rate).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return genesis.exp(-p.loc / scale + 0.5 * (p.scale / scale).pow(2))
    if isinstance(p, Gumbel):
        return genesis.exp(-p.loc / scale + genesis.lgamma(1 + p.scale / scale))
    width = p.high - p.low
    return (genesis.exp(-p.low / scale) - genesis.exp(-p.high / scale)) * scale / width  # type: ignore[no-any-return]


# ---- -E_p[log q] by q ----


def _cross_normal(p: Any, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    return 0.5 * (  # type: ignore[no-any-return]
        genesis.log(2 * math.pi * variance) + (p.variance + (p.mean - q.loc).pow(2)) / variance
    )


def _cross_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log()  # type: ignore[no-any-return]


def _cross_gamma(p: Any, q: Gamma) -> Tensor:
    normaliser = genesis.lgamma(q.concentration) - q.concentration * q.rate.log()
    return normaliser - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean  # type: ignore[no-any-return]


def _cross_gumbel(p: Any, q: Gumbel) -> Tensor:
    return (  # type: ignore[no-any-return]
        q.scale.log()
        + (p.mean - q.loc) / q.scale
        + genesis.exp(q.loc / q.scale) * _mean_exp(p, q.scale)
    )


def _cross_pareto(p: Any, q: Pareto) -> Tensor:
    return (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()


def _cross_uniform(p: Any, q: Uniform) -> Tensor:
    return genesis.log(q.high - q.low)


def _cross_beta(p: Any, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    normaliser = genesis.lgamma(a) + genesis.lgamma(b) - genesis.lgamma(a + b)
    return normaliser - (a - 1) * _mean_log(p) - (b - 1) * _mean_log1m(p)


def _cross_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return -p.mean * q.logits - genesis.log1p(-q.probs) - q._cont_bern_log_norm()  # type: ignore[no-any-return]


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    """Whether p has probability outside the support of q."""
    return p.mean.new_full(
        genesis.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape)), genesis.inf
    )


def _register_cross(type_p: type, type_q: type, cross: Divergence, inside: Any = None) -> None:
    """Registers -H(p) - E_p[log q], infinite where not inside(p, q)."""

    def divergence(p: Any, q: Any) -> Tensor:
        result = cross(p, q) - p.entropy()
        return result if inside is None else genesis.where(inside(p, q), result, genesis.inf)  # type: ignore[no-any-return]

    register_kl(type_p, type_q)(divergence)


def _unit(q: Any) -> Tensor:
    return (q.low <= 0) & (q.high >= 1)  # type: ignore[no-any-return]


_p: Any
for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    _register_cross(_p, Normal, _cross_normal)
_register_cross(Pareto, Normal, _cross_normal, lambda p, q: p.alpha > 2)
for _p in (Beta, ContinuousBernoulli):
    _register_cross(_p, Exponential, _cross_exponential)
    _register_cross(_p, Uniform, _cross_uniform, lambda p, q: _unit(q))
_register_cross(Beta, Gamma, _cross_gamma)
_register_cross(Beta, ContinuousBernoulli, _cross_continuous_bernoulli)
_register_cross(Exponential, Gamma, _cross_gamma)
_register_cross(Gamma, Exponential, _cross_exponential)
for _p in (Exponential, Gamma, Normal, Uniform):
    _register_cross(_p, Gumbel, _cross_gumbel)
_register_cross(Gumbel, Gumbel, _cross_gumbel)
_register_cross(Pareto, Exponential, _cross_exponential, lambda p, q: p.alpha > 1)
_register_cross(Pareto, Gamma, _cross_gamma, lambda p, q: p.alpha > 1)
_register_cross(Pareto, Pareto, _cross_pareto, lambda p, q: p.scale >= q.scale)
_register_cross(Uniform, Beta, _cross_beta, lambda p, q: (p.low >= 0) & (p.high <= 1))
_register_cross(
    Uniform,
    ContinuousBernoulli,
    _cross_continuous_bernoulli,
    lambda p, q: (p.low >= 0) & (p.high <= 1),
)
_register_cross(Uniform, Exponential, _cross_exponential, lambda p, q: p.low >= 0)
_register_cross(Uniform, Gamma, _cross_gamma, lambda p, q: p.low >= 0)
_register_cross(Uniform, Pareto, _cross_pareto, lambda p, q: p.low >= q.scale)
_register_cross(
    Uniform, Uniform, _cross_uniform, lambda p, q: (q.low <= p.low) & (q.high >= p.high)
)

for _p, _qs in {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


# ---- pairs of one family ----


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    def term(a: Tensor, b: Tensor) -> Tensor:
        """a log(a / b), 0 at a = 0, infinite at b = 0."""
        return genesis.where(  # type: ignore[no-any-return]
            a == 0,
            0.0,
            genesis.where(b == 0, genesis.inf, genesis.xlogy(a, a) - genesis.xlogy(a, b)),
        )

    if "logits" in p.__dict__ and "logits" in q.__dict__:
        softplus = genesis.nn.functional.softplus
        return p.probs * (p.logits - q.logits) + softplus(q.logits) - softplus(p.logits)
    return term(p.probs, q.probs) + term(1 - p.probs, 1 - q.probs)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Beta)
def _beta_beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    """Infinite where p has more trials; where q has more there is no closed form."""
    if not all_true(p.total_count >= q.total_count):
        raise NotImplementedError(
            "kl_divergence: Binomial and Binomial need a total_count of p that is not "
            "below that of q"
        )
    divergence = p.total_count * (
        p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    )
    return genesis.where(p.total_count > q.total_count, genesis.inf, divergence)  # type: ignore[no-any-return]


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = genesis.where((q.probs == 0).expand(terms.shape), genesis.inf, terms)
    return genesis.where((p.probs == 0).expand(terms.shape), 0.0, terms).sum(-1)  # type: ignore[no-any-return]


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    distance = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return distance.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli_continuous_bernoulli(
    p: ContinuousBernoulli, q: ContinuousBernoulli
) -> Tensor:
    return _cross_continuous_bernoulli(p, q) - _cross_continuous_bernoulli(p, p)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalisers = (
        genesis.lgamma(total)
        - genesis.lgamma(b.sum(-1))
        + (genesis.lgamma(b) - genesis.lgamma(a)).sum(-1)
    )
    return normalisers + (
        (a - b) * (genesis.digamma(a) - genesis.digamma(total).unsqueeze(-1))
    ).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence: no divergence is registered for {type(p).__name__} and "
            f"{type(q).__name__}; "
            "two exponential families must be the same"
        )
    p_params = [param.detach().requires_grad_() for param in p._natural_params]
    q_params = q._natural_params
    with genesis.enable_grad():
        normaliser = p._log_normalizer(*p_params)
        slopes = genesis.autograd.grad(normaliser.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q_params) - normaliser
    for p_param, q_param, slope in zip(p_params, q_params, slopes, strict=True):
        result = result - sum_rightmost((q_param - p_param) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + genesis.lgamma(b)
        - genesis.lgamma(a)
        + (a - b) * genesis.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Geometric, Geometric)
def _geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - genesis.log1p(-q.probs) * (1 / p.probs - 1) - q.probs.log()


@register_kl(HalfNormal, HalfNormal)
def _half_normal_half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    distance = (p.loc - q.loc).abs()
    return (
        (q.scale / p.scale).log()
        + (distance + p.scale * genesis.exp(-distance / p.scale)) / q.scale
        - 1
    )


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    z = (p.loc - q.loc) / p.scale
    folded = math.sqrt(2 / math.pi) * genesis.exp(-0.5 * z.pow(2)) + z * genesis.erf(
        z / math.sqrt(2)
    )
    return genesis.log(2 * q.scale) + p.scale * folded / q.scale - p.entropy()


@register_kl(Poisson, Poisson)
def _poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# ---- vectors ----


def _trace_of_solved(factor: Tensor, root: Tensor) -> Tensor:
    """tr((L L^T)^-1 R R^T)."""
    solved = genesis.linalg.solve_triangular(factor, root, upper=False)
    return solved.pow(2).flatten(-2).sum(-1)


def _same_event(p: Distribution, q: Distribution) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "kl_divergence: p and q must have the same event shape, got "
            f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )


@register_kl(MultivariateNormal, MultivariateNormal)
def _mvn_mvn(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _same_event(p, q)
    factor, root = q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril
    n = p.event_shape[0]
    quadratic = _trace_of_solved(factor, root) + _batch_mahalanobis(factor, q.loc - p.loc)
    return _half_log_det(factor) - _half_log_det(root) + 0.5 * (quadratic - n)


def _lowrank_pieces(d: LowRankMultivariateNormal) -> tuple[Tensor, Tensor, Tensor]:
    return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril


def _kl_to_lowrank(
    log_det: Tensor, roots: list[Tensor], mean: Tensor, q: LowRankMultivariateNormal
) -> Tensor:
    """From a normal distribution with covariance sum(R R^T), by the Woodbury identity."""
    factor, diag, capacitance = _lowrank_pieces(q)
    scaled = factor.mT / diag.unsqueeze(-2)
    difference = q.loc - mean
    quadratic = (difference.pow(2) / diag).sum(-1) - _batch_mahalanobis(
        capacitance, (scaled @ difference.unsqueeze(-1)).squeeze(-1)
    )
    for root in roots:
        quadratic = quadratic + (root.pow(2) / diag.unsqueeze(-1)).flatten(-2).sum(-1)
        quadratic = quadratic - _trace_of_solved(capacitance, scaled @ root)
    return 0.5 * (_lowrank_logdet(diag, capacitance) - log_det + quadratic - q.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _lowrank_lowrank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _same_event(p, q)
    factor, diag, capacitance = _lowrank_pieces(p)
    return _kl_to_lowrank(
        _lowrank_logdet(diag, capacitance), [factor, diag.sqrt().diag_embed()], p.loc, q
    )


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _mvn_lowrank(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _same_event(p, q)
    root = p._unbroadcasted_scale_tril
    return _kl_to_lowrank(2 * _half_log_det(root), [root], p.loc, q)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _lowrank_mvn(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _same_event(p, q)
    factor, diag, capacitance = _lowrank_pieces(p)
    scale = q._unbroadcasted_scale_tril
    trace = _trace_of_solved(scale, factor) + _trace_of_solved(scale, diag.sqrt().diag_embed())
    quadratic = trace + _batch_mahalanobis(scale, q.loc - p.loc)
    return (
        _half_log_det(scale)
        - 0.5 * _lowrank_logdet(diag, capacitance)
        + 0.5 * (quadratic - p.event_shape[0])
    )


# ---- composite distributions ----


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence: Independent and Independent need the same "
            "reinterpreted_batch_ndims, got "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """A bijection does not change the divergence."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "kl_divergence: two TransformedDistributions need the same transforms and event shape"
        )
    return kl_divergence(p.base_dist, q.base_dist)


explain(globals())
