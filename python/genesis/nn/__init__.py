"""Building blocks of models."""

from genesis.nn import functional, init, modules, utils
from genesis.nn.functional import binary_cross_entropy, mse_loss
from genesis.nn.functional import cross_entropy as cross_entropy_loss
from genesis.nn.modules import *  # noqa: F403
from genesis.nn.parameter import Buffer, Parameter
from genesis.optim.sgd import SGD

__all__ = [
    *modules.__all__,
    "SGD",
    "Buffer",
    "Parameter",
    "binary_cross_entropy",
    "cross_entropy_loss",
    "functional",
    "init",
    "modules",
    "mse_loss",
    "utils",
]
