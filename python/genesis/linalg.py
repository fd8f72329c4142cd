"""Linear algebra over stacks of matrices, in float32 and float64, differentiable to second order.

>>> genesis.linalg.solve(genesis.tensor([[2.0, 0.0], [0.0, 4.0]]), genesis.tensor([2.0, 2.0]))
tensor([1.0000, 0.5000])

LAPACK is opened at the first call. What has no result (a singular matrix to invert) raises
:class:`LinAlgError`, a ``RuntimeError`` that names the matrix within its stack.
"""

from genesis._C import _LinAlgError as LinAlgError
from genesis._C import linalg_cholesky as cholesky
from genesis._C import linalg_cond as cond
from genesis._C import linalg_det as det
from genesis._C import linalg_eigh as eigh
from genesis._C import linalg_eigvalsh as eigvalsh
from genesis._C import linalg_householder_product as householder_product
from genesis._C import linalg_inv as inv
from genesis._C import linalg_lstsq as lstsq
from genesis._C import linalg_lu as lu
from genesis._C import linalg_lu_factor as lu_factor
from genesis._C import linalg_lu_factor_ex as lu_factor_ex
from genesis._C import linalg_lu_solve as lu_solve
from genesis._C import linalg_matrix_exp as matrix_exp
from genesis._C import linalg_matrix_norm as matrix_norm
from genesis._C import linalg_matrix_power as matrix_power
from genesis._C import linalg_matrix_rank as matrix_rank
from genesis._C import linalg_norm as norm
from genesis._C import linalg_pinv as pinv
from genesis._C import linalg_qr as qr
from genesis._C import linalg_slogdet as slogdet
from genesis._C import linalg_solve as solve
from genesis._C import linalg_solve_triangular as solve_triangular
from genesis._C import linalg_svd as svd
from genesis._C import linalg_svdvals as svdvals
from genesis._C import linalg_vander as vander
from genesis._C import linalg_vector_norm as vector_norm

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "det",
    "eigh",
    "eigvalsh",
    "householder_product",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vander",
    "vector_norm",
]
