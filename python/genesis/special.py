"""Special functions, under PyTorch's names.

>>> genesis.special.ndtr(genesis.tensor([0.0, 1.0]))
tensor([0.5000, 0.8413])

Most are functions of ``genesis`` with another name; the others are computed in float64 and rounded.
All are differentiable to any order, but ``zeta``, ``gammainc`` and ``gammaincc`` not by their first
argument.
"""

from genesis._C import digamma as digamma
from genesis._C import digamma as psi
from genesis._C import erf as erf
from genesis._C import erfc as erfc
from genesis._C import erfinv as erfinv
from genesis._C import exp2 as exp2
from genesis._C import expm1 as expm1
from genesis._C import i0 as i0
from genesis._C import igamma as gammainc
from genesis._C import igammac as gammaincc
from genesis._C import lgamma as gammaln
from genesis._C import log1p as log1p
from genesis._C import log_softmax as log_softmax
from genesis._C import logit as logit
from genesis._C import logsumexp as logsumexp
from genesis._C import mvlgamma as multigammaln
from genesis._C import polygamma as polygamma
from genesis._C import round as round
from genesis._C import sigmoid as expit
from genesis._C import sinc as sinc
from genesis._C import softmax as softmax
from genesis._C import special_entr as entr
from genesis._C import special_erfcx as erfcx
from genesis._C import special_i0e as i0e
from genesis._C import special_i1 as i1
from genesis._C import special_i1e as i1e
from genesis._C import special_log_ndtr as log_ndtr
from genesis._C import special_ndtr as ndtr
from genesis._C import special_ndtri as ndtri
from genesis._C import special_xlog1py as xlog1py
from genesis._C import special_zeta as zeta
from genesis._C import xlogy as xlogy

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
