"""The file of PyTorch that its first version of FSDP is in."""

from genesis.torch.compat.distributed.fsdp import *  # noqa: F403
