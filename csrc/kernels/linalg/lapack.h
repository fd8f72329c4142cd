// Matrix decompositions by LAPACK, which comes with the OpenBLAS that is bundled beside the module and opened at the
// first use. Every argument is a stack of matrices, float32, float64 or complex: leading dimensions of equal shape
// (step 0 where one matrix serves many), then rows and columns, in any layout. The matrices of a stack are worked on in
// parallel.
#pragma once

#include "core/view.h"

namespace genesis::kernels {

// The first matrix of a stack on which a routine failed: its place, and what LAPACK said (`info`).
struct LapackFailure {
  static constexpr int kNotFinite = -1000;  // the matrix has inf or nan, on which these routines may not terminate
  int64_t matrix = -1;
  int info = 0;
  explicit operator bool() const { return matrix >= 0; }
};

// `info`, where it is not null, receives what LAPACK said of each matrix.

// P A = L U for A of (m, n). `lu` (..., n, m) is contiguous: each matrix is stored column after column, as lu_solve
// wants it. pivots: int32 (..., min(m, n)). A zero on U's diagonal is a failure of which the factors are still
// complete.
LapackFailure lu_factor(View a, View lu, View pivots, int* info = nullptr);
// A x = b, or A.H x = b.
void lu_solve(View lu, View pivots, View b, View x, bool adjoint);
// The determinant (logarithm.data null), or its sign and the logarithm of its size, which is real.
void lu_determinant(View lu, View pivots, View determinant, View logarithm);
// The smallest of U's diagonal over the largest, of the worst matrix: near zero where A is nearly singular.
double lu_pivot_ratio(View lu);

// NaN where A is singular.
LapackFailure inverse(View a, View y, int* info = nullptr);
// A = L L.H, from the lower triangle of A; zeros above the diagonal of L.
LapackFailure cholesky(View a, View l, int* info = nullptr);
// A = L D L.T, from the lower triangle of A, D of blocks of one or two rows (Bunch and Kaufman). `factors` (..., n, n)
// is contiguous, each matrix column after column.
LapackFailure ldl_factor(View a, View factors, View pivots, bool hermitian, int* info = nullptr);
void ldl_solve(View factors, View pivots, View b, View x, bool hermitian);
// A x = b for the upper or lower triangle of A; `unit` takes the diagonal as ones.
void solve_triangular(View a, View b, View x, bool upper, bool unit);
// A = Q R; q has k = min(m, n) columns, or m.
void qr(View a, View q, View r);
// The reflections that make Q: R in and above the diagonal of `factors`, vectors below it; tau (..., min(m, n)).
void reflections(View a, View factors, View tau);
// A = V diag(w) V.H from one triangle of A, w real and ascending. Without vectors where v.data is null.
LapackFailure eigh(View a, View w, View v, bool upper);
// A V = V diag(w) for any square A; w and V are complex. Without vectors where v.data is null.
LapackFailure eig(View a, View w, View v);
// A = U diag(s) Vh, s real and descending; U has k = min(m, n) columns and Vh k rows, or both are square. Without
// vectors where u.data is null.
LapackFailure svd(View a, View s, View u, View vh);

// Raises where LAPACK's 32-bit integers cannot count rows or work space; `square_work`: the routine (eigh, svd) wants
// work space for several whole matrices.
void require_lapack_size(const char* op, int64_t rows, int64_t cols, bool square_work);

}  // namespace genesis::kernels
