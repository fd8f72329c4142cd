"""Linear algebra over stacks of matrices, real and complex, differentiable to second order.

>>> genesis.linalg.solve(genesis.tensor([[2.0, 0.0], [0.0, 4.0]]), genesis.tensor([2.0, 2.0]))
tensor([1.0000, 0.5000])

LAPACK is opened at the first call. What has no result (a singular matrix to invert) raises
:class:`LinAlgError`, a ``RuntimeError`` that names the matrix within its stack.
"""

from genesis._C import _LinAlgError as LinAlgError
from genesis._C import _namespace
from genesis._missing import explain

_functions = _namespace("linalg")
globals().update(_functions)
__all__ = ["LinAlgError", *sorted(_functions)]
explain(globals())
