// Shared by the linear algebra files: checks of arguments, and constant matrices for their rules.
#pragma once

#include "kernels/linalg/lapack.h"
#include "ops/complex.h"
#include "ops/view.h"

namespace genesis::ops {

inline Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }
// The conjugate transpose.
inline Tensor adjoint(const Tensor& x) { return conj(transposed(x)); }

// Requires a stack of matrices with a dtype that LAPACK supports.
void require_matrix(const char* op, const char* argument, const Tensor& a, bool square_work = false);
void require_square(const char* op, const char* argument, const Tensor& a, bool square_work = false);

// Raises LinAlgError, "op: matrix (1, 0) of the stack <what>".
[[noreturn]] void fail_matrix(const char* op, const Dims& batch, int64_t matrix, const std::string& what);

inline Dims batch_shape(const Tensor& a) { return Dims(a.shape().begin(), a.shape().end() - 2); }
inline Dims with_sizes(Dims batch, std::initializer_list<int64_t> sizes) {
  for (int64_t size : sizes) batch.push_back(size);
  return batch;
}

// (rows, cols), constant below, on, and above the diagonal: a factor that selects a triangle.
Tensor triangle(int64_t rows, int64_t cols, double below, double on, double above, DType dtype);
inline Tensor identity(int64_t n, DType dtype) { return triangle(n, n, 0, 1, 0, dtype); }
inline Tensor off_diagonal(int64_t n, DType dtype) { return triangle(n, n, 1, 0, 1, dtype); }

// The sum of the defined operands.
Tensor add_defined(const Tensor& x, const Tensor& y);

}  // namespace genesis::ops
