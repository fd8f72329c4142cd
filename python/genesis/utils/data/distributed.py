"""Where PyTorch has the sampler of a part of a dataset."""

from genesis.utils.data.sampler import DistributedSampler

__all__ = ["DistributedSampler"]
