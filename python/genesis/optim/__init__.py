"""Optimizers: what updates the parameters of a model from their gradients.

Signatures, defaults, states and ``state_dict`` are PyTorch's. A step of all parameters of a group
is one native call, so ``foreach``, ``fused`` and ``capturable``, by which PyTorch chooses among its
implementations, are accepted and change nothing. ``differentiable=True`` records the step in the
graph.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from genesis._missing import MissingName
from genesis.optim import lr_scheduler
from genesis.optim.adafactor import Adafactor
from genesis.optim.adagrad import Adadelta, Adagrad, RMSprop
from genesis.optim.adam import Adam, AdamW
from genesis.optim.adam_variants import Adamax, NAdam, RAdam
from genesis.optim.asgd import ASGD
from genesis.optim.lbfgs import LBFGS
from genesis.optim.muon import Muon
from genesis.optim.optimizer import Optimizer
from genesis.optim.sgd import SGD
from genesis.optim.sign import Lion, Rprop
from genesis.optim.sparse_adam import SparseAdam

if TYPE_CHECKING:
    from genesis.optim import swa_utils as swa_utils

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]


def __getattr__(name: str) -> Any:
    if name == "swa_utils":  # averages models, so it needs nn, which needs the optimizers
        return importlib.import_module("genesis.optim.swa_utils")
    raise MissingName(__name__, name)
