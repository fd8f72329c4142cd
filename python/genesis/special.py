"""Special functions, under PyTorch's names.

>>> genesis.special.ndtr(genesis.tensor([0.0, 1.0]))
tensor([0.5000, 0.8413])

Most are functions of ``genesis`` with another name; the others are computed in float64 and rounded.
All are differentiable to any order, but ``zeta``, ``gammainc`` and ``gammaincc`` not by their first
argument.
"""

from genesis._C import _namespace
from genesis._missing import explain

_functions = _namespace("special")
globals().update(_functions)
__all__ = sorted(_functions)
explain(globals())
