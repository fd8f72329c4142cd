"""One case per distribution: parameters, values inside the support, and what it is in SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

RNG = np.random.default_rng(0)


def _tril(*shape: int) -> np.ndarray:
    a = RNG.normal(size=shape)
    return np.tril(a, -1) + np.stack(
        [np.diag(d) for d in np.exp(np.diagonal(a, 0, -2, -1)).reshape(-1, shape[-1])]
    ).reshape(shape)


def _simplex(*shape: int) -> np.ndarray:
    a = RNG.uniform(0.1, 1, shape)
    return a / a.sum(-1, keepdims=True)


LOW, POSITIVE = RNG.normal(size=(3, 2)), RNG.uniform(0.5, 3.0, (3, 2))
UNIT = RNG.uniform(0.1, 0.9, (3, 2))
TRIL = _tril(2, 3, 3)


@dataclass
class Case:
    name: str
    params: dict[str, Any]
    value: np.ndarray
    scipy: Callable[..., Any] | None = None  # frozen SciPy distribution of the same parameters
    cdf: bool = False
    icdf: bool = False
    fixed: tuple[str, ...] = ()  # parameters that are not differentiated
    id: str = field(default="")

    def __post_init__(self) -> None:
        self.id = self.id or f"{self.name}-{'-'.join(self.params)}"


def gp(loc: Any, scale: Any, concentration: Any) -> Any:
    return stats.genpareto(concentration, loc, scale)


CASES = [
    Case("Bernoulli", {"probs": UNIT}, np.array([[0.0, 1.0]] * 3), stats.bernoulli),
    Case("Bernoulli", {"logits": LOW}, np.array([[0.0, 1.0]] * 3)),
    Case("Beta", {"concentration1": POSITIVE, "concentration0": POSITIVE[::-1].copy()}, UNIT,
         lambda concentration1, concentration0: stats.beta(concentration1, concentration0)),
    Case("Binomial", {"total_count": np.array(5.0), "probs": UNIT}, np.array([[0.0, 5.0]] * 3),
         lambda total_count, probs: stats.binom(total_count, probs), fixed=("total_count",)),
    Case("Binomial", {"total_count": np.array(5.0), "logits": LOW}, np.array([[2.0, 3.0]] * 3), fixed=("total_count",)),
    Case("Categorical", {"probs": _simplex(3, 4)}, np.array([0, 3, 2])),
    Case("Categorical", {"logits": RNG.normal(size=(3, 4))}, np.array([0, 3, 2])),
    Case("Cauchy", {"loc": LOW, "scale": POSITIVE}, LOW + 1, stats.cauchy, True, True),
    Case("Chi2", {"df": POSITIVE}, POSITIVE + 0.5, stats.chi2, True),
    Case("ContinuousBernoulli", {"probs": UNIT}, RNG.uniform(0.1, 0.9, (3, 2)), None, True, True),
    Case("ContinuousBernoulli", {"logits": LOW}, RNG.uniform(0.1, 0.9, (3, 2)), None, True, True),
    Case("Dirichlet", {"concentration": POSITIVE}, _simplex(3, 2)),
    Case("Exponential", {"rate": POSITIVE}, POSITIVE + 0.5, lambda rate: stats.expon(scale=1 / rate), True, True),
    Case("FisherSnedecor", {"df1": POSITIVE, "df2": POSITIVE + 4}, POSITIVE + 0.5,
         lambda df1, df2: stats.f(df1, df2)),
    Case("Gamma", {"concentration": POSITIVE, "rate": POSITIVE + 1}, POSITIVE + 0.5,
         lambda concentration, rate: stats.gamma(concentration, scale=1 / rate), True),
    Case("GeneralizedPareto", {"loc": LOW, "scale": POSITIVE, "concentration": np.full((3, 2), 0.2)}, LOW + 1, gp, True, True),
    Case("GeneralizedPareto", {"loc": LOW, "scale": POSITIVE, "concentration": np.full((3, 2), -0.2)}, LOW + 0.5, gp, True, True,
         id="GeneralizedPareto-bounded"),
    Case("Geometric", {"probs": UNIT}, np.array([[0.0, 4.0]] * 3), lambda probs: stats.geom(probs, loc=-1)),
    Case("Geometric", {"logits": LOW}, np.array([[1.0, 2.0]] * 3)),
    Case("Gumbel", {"loc": LOW, "scale": POSITIVE}, LOW + 1, stats.gumbel_r, True, True),
    Case("HalfCauchy", {"scale": POSITIVE}, POSITIVE + 0.5, lambda scale: stats.halfcauchy(scale=scale), True, True),
    Case("HalfNormal", {"scale": POSITIVE}, POSITIVE + 0.5, lambda scale: stats.halfnorm(scale=scale), True, True),
    Case("InverseGamma", {"concentration": POSITIVE + 2, "rate": POSITIVE}, POSITIVE + 0.5,
         lambda concentration, rate: stats.invgamma(concentration, scale=rate), True),
    Case("Kumaraswamy", {"concentration1": POSITIVE, "concentration0": POSITIVE[::-1].copy()}, UNIT, None, True, True),
    Case("LKJCholesky", {"dim": 3, "concentration": POSITIVE}, np.broadcast_to(np.linalg.cholesky(np.array(
        [[1.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 1.0]])), (3, 2, 3, 3)).copy()),
    Case("Laplace", {"loc": LOW, "scale": POSITIVE}, LOW + 1, stats.laplace, True, True),
    Case("LogNormal", {"loc": LOW, "scale": POSITIVE}, POSITIVE, lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc)), True, True),
    Case("LogisticNormal", {"loc": LOW, "scale": POSITIVE}, _simplex(3, 3)),
    Case("LowRankMultivariateNormal", {"loc": RNG.normal(size=(2, 3)), "cov_factor": RNG.normal(size=(2, 3, 2)),
                                       "cov_diag": RNG.uniform(0.5, 1, (2, 3))}, RNG.normal(size=(2, 3))),
    Case("Multinomial", {"total_count": 4, "probs": _simplex(3, 3)}, np.array([[1.0, 2.0, 1.0], [4.0, 0.0, 0.0], [0.0, 2.0, 2.0]])),
    Case("MultivariateNormal", {"loc": RNG.normal(size=(2, 3)), "scale_tril": TRIL}, RNG.normal(size=(2, 3))),
    Case("MultivariateNormal", {"loc": RNG.normal(size=(2, 3)), "covariance_matrix": TRIL @ TRIL.swapaxes(-1, -2)}, RNG.normal(size=(2, 3))),
    Case("MultivariateNormal", {"loc": RNG.normal(size=3), "precision_matrix": TRIL @ TRIL.swapaxes(-1, -2)}, RNG.normal(size=(2, 3))),
    Case("NegativeBinomial", {"total_count": POSITIVE, "probs": UNIT}, np.array([[0.0, 4.0]] * 3),
         lambda total_count, probs: stats.nbinom(total_count, 1 - probs)),
    Case("NegativeBinomial", {"total_count": POSITIVE, "logits": LOW}, np.array([[1.0, 2.0]] * 3)),
    Case("Normal", {"loc": LOW, "scale": POSITIVE}, LOW + 1, stats.norm, True, True),
    Case("OneHotCategorical", {"probs": _simplex(3, 4)}, np.eye(4)[:3]),
    Case("OneHotCategoricalStraightThrough", {"logits": RNG.normal(size=(3, 4))}, np.eye(4)[:3]),
    Case("Pareto", {"scale": POSITIVE, "alpha": POSITIVE + 2}, POSITIVE + 0.5, lambda scale, alpha: stats.pareto(alpha, scale=scale), True, True),
    Case("Poisson", {"rate": POSITIVE}, np.array([[0.0, 4.0]] * 3), stats.poisson),
    Case("RelaxedBernoulli", {"temperature": np.array(0.7), "probs": UNIT}, RNG.uniform(0.1, 0.9, (3, 2)), fixed=("temperature",)),
    Case("RelaxedOneHotCategorical", {"temperature": np.array(0.7), "logits": LOW}, _simplex(3, 2), fixed=("temperature",)),
    Case("StudentT", {"df": POSITIVE + 2, "loc": LOW, "scale": POSITIVE}, LOW + 1, stats.t),
    Case("Uniform", {"low": LOW, "high": LOW + POSITIVE}, LOW + 0.4, lambda low, high: stats.uniform(low, high - low), True, True),
    Case("VonMises", {"loc": UNIT, "concentration": POSITIVE}, LOW, lambda loc, concentration: stats.vonmises(concentration, loc)),
    Case("Weibull", {"scale": POSITIVE, "concentration": POSITIVE + 0.5}, POSITIVE, lambda scale, concentration: stats.weibull_min(concentration, scale=scale), True, True),
    Case("Wishart", {"df": np.array([4.5, 6.0]), "scale_tril": TRIL}, TRIL @ TRIL.swapaxes(-1, -2) * 3),
    Case("Wishart", {"df": np.array([4.5, 6.0]), "precision_matrix": TRIL @ TRIL.swapaxes(-1, -2)}, TRIL @ TRIL.swapaxes(-1, -2) * 3),
]  # fmt: skip
