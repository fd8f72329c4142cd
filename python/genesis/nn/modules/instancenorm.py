"""Normalisation of each channel of each sample: the classes are in ``batchnorm``."""

from genesis.nn.modules.batchnorm import (
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _InstanceNorm,
)

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
_ = _InstanceNorm
