"""The class of compiled modules."""

from genesis.nn.modules.module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """The type that ``torch.compile`` returns for a module in PyTorch. Not used here."""
