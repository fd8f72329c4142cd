"""Modules and losses of GT: those of the package."""

from genesis._C import relu, sigmoid, tanh
from genesis.nn.functional import binary_cross_entropy, mse_loss
from genesis.nn.functional import cross_entropy as cross_entropy_loss
from genesis.nn.modules import Module
from genesis.nn.modules.linear import Linear

__all__ = [
    "Linear",
    "Module",
    "binary_cross_entropy",
    "cross_entropy_loss",
    "mse_loss",
    "relu",
    "sigmoid",
    "tanh",
]
