"""Modules and losses of GT: those of the package."""

import genesis.nn.functional as F
from genesis._C import Tensor, relu, sigmoid, tanh
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


def mse_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """The mean of the squared differences."""
    return F.mse_loss(predicted, target)


def binary_cross_entropy(predicted: Tensor, target: Tensor) -> Tensor:
    """The mean cross-entropy of probabilities with targets from 0 to 1."""
    return F.binary_cross_entropy(predicted, target)


def cross_entropy_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy of scores with class numbers, or with probabilities of the classes."""
    return F.cross_entropy(logits, targets)
