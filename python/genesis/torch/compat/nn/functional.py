"""Private names of ``torch.nn.functional``."""

from genesis.torch.compat.nn import _reduction as _Reduction

__all__ = ["_Reduction"]
