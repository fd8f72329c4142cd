"""Private names of ``torch.nn.modules.conv``."""

__all__ = ["_ConvTransposeMixin"]


class _ConvTransposeMixin:
    """An older base of transposed convolutions, which packages look for."""
