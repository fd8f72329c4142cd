"""The class of compiled modules."""

from genesis.nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """What ``torch.compile`` makes of a module in PyTorch. Here it makes none."""
