"""The old place of ``torch.ao.quantization``."""

from genesis.ao.quantization import *  # noqa: F403
