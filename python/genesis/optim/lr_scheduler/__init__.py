"""Schedules of learning rates. Call ``scheduler.step()`` after ``optimizer.step()``.

Schedulers change the learning rate that they find, by a factor, where that is possible: several
then work together on one optimizer. States have PyTorch's keys.
"""

from genesis._missing import explain
from genesis.optim.lr_scheduler.base import LRScheduler
from genesis.optim.lr_scheduler.base import _LRScheduler as _LRScheduler
from genesis.optim.lr_scheduler.compose import ChainedScheduler, SequentialLR
from genesis.optim.lr_scheduler.cosine import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    WarmupCosineLR,
    get_cosine_schedule_with_warmup,
)
from genesis.optim.lr_scheduler.cycle import CyclicLR, OneCycleLR
from genesis.optim.lr_scheduler.factor import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from genesis.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "WarmupCosineLR",
    "get_cosine_schedule_with_warmup",
]

explain(globals())
