"""Probability distributions: sampling, densities, entropies, divergences, with PyTorch's names.

>>> from genesis.distributions import Normal, kl_divergence
>>> Normal(0.0, 1.0).entropy()
tensor(1.4189)

Samples of ``rsample`` are differentiable by the parameters. Parameters and values are validated
against their constraints, with errors that name both.
"""

from genesis._missing import explain
from genesis.distributions import constraints as constraints
from genesis.distributions import kl as kl
from genesis.distributions import transforms as transforms
from genesis.distributions.bernoulli import Bernoulli as Bernoulli
from genesis.distributions.beta import Beta as Beta
from genesis.distributions.binomial import Binomial as Binomial
from genesis.distributions.categorical import Categorical as Categorical
from genesis.distributions.cauchy import Cauchy as Cauchy
from genesis.distributions.chi2 import Chi2 as Chi2
from genesis.distributions.constraint_registry import biject_to as biject_to
from genesis.distributions.constraint_registry import transform_to as transform_to
from genesis.distributions.continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from genesis.distributions.dirichlet import Dirichlet as Dirichlet
from genesis.distributions.distribution import Distribution as Distribution
from genesis.distributions.exp_family import ExponentialFamily as ExponentialFamily
from genesis.distributions.exponential import Exponential as Exponential
from genesis.distributions.fishersnedecor import FisherSnedecor as FisherSnedecor
from genesis.distributions.gamma import Gamma as Gamma
from genesis.distributions.generalized_pareto import GeneralizedPareto as GeneralizedPareto
from genesis.distributions.geometric import Geometric as Geometric
from genesis.distributions.gumbel import Gumbel as Gumbel
from genesis.distributions.half_cauchy import HalfCauchy as HalfCauchy
from genesis.distributions.half_normal import HalfNormal as HalfNormal
from genesis.distributions.independent import Independent as Independent
from genesis.distributions.inverse_gamma import InverseGamma as InverseGamma
from genesis.distributions.kl import kl_divergence as kl_divergence
from genesis.distributions.kl import register_kl as register_kl
from genesis.distributions.kumaraswamy import Kumaraswamy as Kumaraswamy
from genesis.distributions.laplace import Laplace as Laplace
from genesis.distributions.lkj_cholesky import LKJCholesky as LKJCholesky
from genesis.distributions.log_normal import LogNormal as LogNormal
from genesis.distributions.logistic_normal import LogisticNormal as LogisticNormal
from genesis.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
)
from genesis.distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from genesis.distributions.multinomial import Multinomial as Multinomial
from genesis.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from genesis.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from genesis.distributions.normal import Normal as Normal
from genesis.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
from genesis.distributions.one_hot_categorical import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from genesis.distributions.pareto import Pareto as Pareto
from genesis.distributions.poisson import Poisson as Poisson
from genesis.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from genesis.distributions.relaxed_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from genesis.distributions.studentT import StudentT as StudentT
from genesis.distributions.transformed_distribution import (
    TransformedDistribution as TransformedDistribution,
)
from genesis.distributions.transforms import AbsTransform as AbsTransform
from genesis.distributions.transforms import AffineTransform as AffineTransform
from genesis.distributions.transforms import CatTransform as CatTransform
from genesis.distributions.transforms import ComposeTransform as ComposeTransform
from genesis.distributions.transforms import CorrCholeskyTransform as CorrCholeskyTransform
from genesis.distributions.transforms import (
    CumulativeDistributionTransform as CumulativeDistributionTransform,
)
from genesis.distributions.transforms import ExpTransform as ExpTransform
from genesis.distributions.transforms import IndependentTransform as IndependentTransform
from genesis.distributions.transforms import LowerCholeskyTransform as LowerCholeskyTransform
from genesis.distributions.transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from genesis.distributions.transforms import PowerTransform as PowerTransform
from genesis.distributions.transforms import ReshapeTransform as ReshapeTransform
from genesis.distributions.transforms import SigmoidTransform as SigmoidTransform
from genesis.distributions.transforms import SoftmaxTransform as SoftmaxTransform
from genesis.distributions.transforms import SoftplusTransform as SoftplusTransform
from genesis.distributions.transforms import StackTransform as StackTransform
from genesis.distributions.transforms import StickBreakingTransform as StickBreakingTransform
from genesis.distributions.transforms import TanhTransform as TanhTransform
from genesis.distributions.transforms import Transform as Transform
from genesis.distributions.transforms import identity_transform as identity_transform
from genesis.distributions.uniform import Uniform as Uniform
from genesis.distributions.von_mises import VonMises as VonMises
from genesis.distributions.weibull import Weibull as Weibull
from genesis.distributions.wishart import Wishart as Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
]

explain(globals())
