// Linear algebra over stacks of real and complex matrices: solving (linalg.cpp) and decomposing (decompose.cpp). A
// matrix without a result (singular, not positive definite) raises LinAlgError with its index in the stack.
#pragma once

#include <optional>
#include <utility>

#include "ops/operand.h"

namespace genesis::ops {

// Solves a @ x = b, or x @ a = b if not `left`. b is a matrix, or a vector: 1-d, or shaped like a without the last
// dimension.
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left);
// Variants that do not raise if a matrix has no result: `info` (int32, one per matrix) is 0 if there is one. With
// `check` they raise.
struct WithInfo {
  Tensor result, info;
};
WithInfo linalg_solve_ex(const char* op, const Tensor& a, const Tensor& b, bool left, bool check);
WithInfo linalg_inv_ex(const char* op, const Tensor& a, bool check);
WithInfo linalg_cholesky_ex(const char* op, const Tensor& a, bool upper, bool check);
// tensorinv: a is reshaped to a square matrix, of its first `rows` dimensions by the others. tensorsolve: x with
// tensordot(a, x) = b, where `dims` of a are moved to the end first.
Tensor linalg_tensorinv(const Tensor& a, int64_t rows);
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, const Dims& dims);
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular);
Tensor linalg_inv(const char* op, const Tensor& a);
Tensor linalg_det(const char* op, const Tensor& a);
struct SignAndLog {
  Tensor sign, logabsdet;
};
SignAndLog linalg_slogdet(const char* op, const Tensor& a);
Tensor linalg_matrix_power(const char* op, const Tensor& a, int64_t n);
/// I + A + A^2 / 2! + ...
Tensor linalg_matrix_exp(const char* op, const Tensor& a);

// a = p @ l @ u for (m, n), with min(m, n) columns of l and rows of u. pivots are LAPACK's row swaps, counted from 1. p
// has no gradient.
struct LU {
  Tensor p, l, u, pivots;
};
LU linalg_lu(const char* op, const Tensor& a, bool pivot);
// Both triangles in one matrix (l without its unit diagonal), for lu_solve. `info` is the position of the first zero on
// u's diagonal, counted from 1, or 0; such a matrix raises if `check`.
struct FactoredLU {
  Tensor lu, pivots, info;
};
FactoredLU linalg_lu_factor(const char* op, const Tensor& a, bool pivot, bool check);
Tensor linalg_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint);
LU lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots);

// a = l @ d @ l.T, computed from the lower triangle of a; d has blocks of one or two rows. Only `b` of ldl_solve has a
// gradient.
struct FactoredLDL {
  Tensor ld, pivots, info;
};
FactoredLDL linalg_ldl_factor(const char* op, const Tensor& a, bool hermitian, bool check);
Tensor linalg_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);

// a = l @ l.H, or u.H @ u. Only that triangle of a is read; the gradient is symmetric.
Tensor linalg_cholesky(const Tensor& a, bool upper);
// These take a Cholesky factor instead of the matrix.
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper);
Tensor cholesky_inverse(const Tensor& factor, bool upper);
enum class QrMode { Reduced, Complete, ROnly };
struct QR {
  Tensor q, r;
};
QR linalg_qr(const Tensor& a, QrMode mode);
// The Householder reflections whose product is Q, in LAPACK's format: R in the upper triangle of `a`, the vectors
// below. No gradient.
struct Reflections {
  Tensor a, tau;
};
Reflections geqrf(const Tensor& a);
/// The first columns of H_1 H_2 ..., H_i = I - tau_i v_i v_i^T, where v_i is 0 before i, 1 at i, then column i of `a`.
Tensor linalg_householder_product(const char* op, const Tensor& a, const Tensor& tau);
/// Q @ c, c @ Q, or the same with Q.T, for the square Q of the reflections.
Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool transpose);
// a = v @ diag(w) @ v.H, computed from one triangle of a.
struct Eigen {
  Tensor values, vectors;
};
Eigen linalg_eigh(const Tensor& a, bool upper);
Tensor linalg_eigvalsh(const Tensor& a, bool upper);
// a @ v = v @ diag(w) for any square a; both results are complex.
Eigen linalg_eig(const Tensor& a);
Tensor linalg_eigvals(const Tensor& a);
struct SVD {
  Tensor u, s, vh;
};
// Vectors past the first min(m, n) of a full basis are arbitrary and treated as constants (those of qr raise in
// backward).
SVD linalg_svd(const Tensor& a, bool full_matrices);
Tensor linalg_svdvals(const Tensor& a);
// Singular values up to max(atol, rtol * the largest) are treated as zero; rtol is max(m, n) * eps if neither is given.
// Each is a number, or a tensor with one number per matrix.
struct Tolerance {
  std::optional<Operand> atol, rtol;
};
// hermitian: a is assumed to be symmetric, and only one triangle is read.
Tensor linalg_pinv(const char* op, const Tensor& a, const Tolerance& tolerance, bool hermitian);
Tensor linalg_matrix_rank(const Tensor& a, const Tolerance& tolerance, bool hermitian);
// The x that minimizes the sum of squares of a @ x - b; of several, the smallest. Results that a driver does not
// compute are empty.
struct LeastSquares {
  Tensor solution, residuals, rank, singular_values;
};
enum class LeastSquaresDriver { Gels, Gelsy, Gelsd, Gelss };
LeastSquares linalg_lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond, LeastSquaresDriver driver);

// Which norm of a matrix: the vector norm of its elements, the sum of its singular values, or the operator norm for
// vector p-norms, p = 1, 2 or infinity (negative: the smallest instead of the largest).
struct MatrixOrder {
  enum Kind : uint8_t { Frobenius, Nuclear, Operator } kind;
  double p = 2;
};
Tensor linalg_matrix_norm(const Tensor& a, MatrixOrder order, const Dims& dim, bool keepdim,
                          std::optional<DType> dtype);
// The factor by which a relative error of b may grow in solve(a, b): norm(a) * norm(inv(a)), inf if a is singular. For
// the 2-norm (also the default), any matrices are allowed, by their singular values.
Tensor linalg_cond(const Tensor& a, MatrixOrder order);

}  // namespace genesis::ops
