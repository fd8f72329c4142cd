// Linear algebra over stacks of matrices, float32 and float64: solving (linalg.cpp) and decomposing (decompose.cpp).
// A matrix that has no result (singular, not positive definite) raises LinAlgError with its place in the stack.
#pragma once

#include <optional>
#include <utility>

#include "core/tensor.h"

namespace genesis::ops {

// a @ x = b, or x @ a = b where not left. b is a matrix, or a vector: 1-d, or shaped like a without the last dimension.
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left);
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

// a = l @ l.T, or u.T @ u. Only that triangle of a is read; the gradient is symmetric.
Tensor linalg_cholesky(const Tensor& a, bool upper);
enum class QrMode { Reduced, Complete, ROnly };
struct QR {
  Tensor q, r;
};
QR linalg_qr(const Tensor& a, QrMode mode);
// The reflections that make Q, as LAPACK leaves them: R in the upper triangle of `a`, the vectors below. No gradient.
struct Reflections {
  Tensor a, tau;
};
Reflections geqrf(const Tensor& a);
/// The first columns of H_1 H_2 ..., H_i = I - tau_i v_i v_i^T, where v_i is 0 before i, 1 at i, then column i of `a`.
Tensor linalg_householder_product(const char* op, const Tensor& a, const Tensor& tau);
// a = v @ diag(w) @ v.T from one triangle of a.
struct Eigen {
  Tensor values, vectors;
};
Eigen linalg_eigh(const Tensor& a, bool upper);
Tensor linalg_eigvalsh(const Tensor& a, bool upper);
struct SVD {
  Tensor u, s, vh;
};
// Vectors past the first min(m, n) of a full basis have no gradient: using them in backward raises. So for qr.
SVD linalg_svd(const Tensor& a, bool full_matrices);
Tensor linalg_svdvals(const Tensor& a);
// Singular values up to max(atol, rtol * the largest) count as zero; rtol is max(m, n) * eps if neither is given.
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol);

// Which norm of a matrix: the vector norm of its elements, the sum of its singular values, or the operator norm for
// vector p-norms, p = 1, 2 or infinity (negative: the smallest instead of the largest).
struct MatrixOrder {
  enum Kind : uint8_t { Frobenius, Nuclear, Operator } kind;
  double p = 2;
};
Tensor linalg_matrix_norm(const Tensor& a, MatrixOrder order, const Dims& dim, bool keepdim,
                          std::optional<DType> dtype);

}  // namespace genesis::ops
