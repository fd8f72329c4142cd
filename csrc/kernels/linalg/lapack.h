// Matrix decompositions with LAPACK from OpenBLAS, which is bundled with the module and loaded at first use. Every
// argument is a stack of matrices in float32, float64 or complex: leading dimensions of equal shape (stride 0 to share
// a matrix), then rows and columns, in any layout. The matrices of a stack are processed in parallel.
#pragma once

#include "core/view.h"

namespace genesis::kernels {

// The first matrix of a stack for which a routine failed: its index, and LAPACK's `info`.
struct LapackFailure {
  static constexpr int kNotFinite =
      -1000;  // the matrix contains inf or nan, for which these routines may not terminate
  int64_t matrix = -1;
  int info = 0;
  explicit operator bool() const { return matrix >= 0; }
};

// `info`, if it is not null, receives LAPACK's result for each matrix.

// P A = L U for A of shape (m, n). `lu` (..., n, m) is contiguous: each matrix is stored in column-major order, as
// lu_solve expects. pivots: int32 (..., min(m, n)). A zero on the diagonal of U is reported as a failure, but the
// factors are complete.
LapackFailure lu_factor(View a, View lu, View pivots, int* info = nullptr);
// Solves A x = b, or A.H x = b.
void lu_solve(View lu, View pivots, View b, View x, bool adjoint);
// The determinant (if logarithm.data is null), or its sign and the logarithm of its absolute value, which is real.
void lu_determinant(View lu, View pivots, View determinant, View logarithm);
// The ratio of the smallest to the largest diagonal element of U, for the worst matrix: near zero if A is nearly
// singular.
double lu_pivot_ratio(View lu);

// NaN if A is singular.
LapackFailure inverse(View a, View y, int* info = nullptr);
// A = L L.H, computed from the lower triangle of A. The upper triangle of L is zero.
LapackFailure cholesky(View a, View l, int* info = nullptr);
// A = L D L.T, computed from the lower triangle of A. D has blocks of one or two rows (Bunch and Kaufman). `factors`
// (..., n, n) is contiguous, with matrices in column-major order.
LapackFailure ldl_factor(View a, View factors, View pivots, bool hermitian, int* info = nullptr);
void ldl_solve(View factors, View pivots, View b, View x, bool hermitian);
// Solves A x = b for the upper or lower triangle of A. With `unit`, the diagonal is taken as ones.
void solve_triangular(View a, View b, View x, bool upper, bool unit);
// A = Q R, where q has k = min(m, n) columns, or m.
void qr(View a, View q, View r);
// The Householder reflections whose product is Q: R on and above the diagonal of `factors`, vectors below it, and tau
// (..., min(m, n)).
void reflections(View a, View factors, View tau);
// A = V diag(w) V.H, computed from one triangle of A, with w real and ascending. Without vectors if v.data is null.
LapackFailure eigh(View a, View w, View v, bool upper);
// A V = V diag(w) for any square A; w and V are complex. Without vectors if v.data is null.
LapackFailure eig(View a, View w, View v);
// A = U diag(s) Vh, with s real and descending. U has k = min(m, n) columns and Vh k rows, or both are square. Without
// vectors if u.data is null.
LapackFailure svd(View a, View s, View u, View vh);

// Raises if the rows or the workspace exceed LAPACK's 32-bit integers. `square_work`: the routine (eigh, svd) needs
// workspace for several matrices.
void require_lapack_size(const char* op, int64_t rows, int64_t cols, bool square_work);

}  // namespace genesis::kernels
