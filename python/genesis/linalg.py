"""Linear algebra over stacks of matrices, in float32 and float64, differentiable to second order.

>>> genesis.linalg.solve(genesis.tensor([[2.0, 0.0], [0.0, 4.0]]), genesis.tensor([2.0, 2.0]))
tensor([1.0000, 0.5000])

LAPACK is opened at the first call. What has no result (a singular matrix to invert) raises
:class:`LinAlgError`, a ``RuntimeError`` that names the matrix within its stack.
"""

from genesis._C import _LinAlgError as LinAlgError
from genesis._C import linalg_cholesky as cholesky
from genesis._C import linalg_det as det
from genesis._C import linalg_eigh as eigh
from genesis._C import linalg_eigvalsh as eigvalsh
from genesis._C import linalg_householder_product as householder_product
from genesis._C import linalg_inv as inv
from genesis._C import linalg_matrix_exp as matrix_exp
from genesis._C import linalg_matrix_norm as matrix_norm
from genesis._C import linalg_matrix_power as matrix_power
from genesis._C import linalg_norm as norm
from genesis._C import linalg_pinv as pinv
from genesis._C import linalg_qr as qr
from genesis._C import linalg_slogdet as slogdet
from genesis._C import linalg_solve as solve
from genesis._C import linalg_solve_triangular as solve_triangular
from genesis._C import linalg_svd as svd
from genesis._C import linalg_svdvals as svdvals
from genesis._C import linalg_vector_norm as vector_norm

__all__ = [
    "LinAlgError",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "householder_product",
    "inv",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vector_norm",
]
