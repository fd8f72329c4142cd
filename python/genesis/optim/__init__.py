"""Optimizers: what updates the parameters of a model from their gradients."""

from genesis.optim.optimizer import Optimizer
from genesis.optim.sgd import SGD

__all__ = ["SGD", "Optimizer"]
