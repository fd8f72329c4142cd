// Matrix products on raw memory: C = alpha * A @ B + beta * D, in float32 and float64. Half types are widened on the
// fly, and the result is rounded once. D defaults to C.
//
// Strides count elements and are arbitrary, including zero (a broadcast operand). C must not overlap A, B or D. With
// beta == 0, D is not read, so C may be uninitialised. With k == 0 or alpha == 0, A and B are not read and C becomes
// beta * D. The result is bitwise identical for any number of threads.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

template <class T>
struct GemmMatrix {
  const T* data = nullptr;
  int64_t row_stride = 0;
  int64_t col_stride = 0;

  template <class A>
  void arguments(A& a) {
    a.visit(data);
  }
};
using GemmOperand = GemmMatrix<float>;

// C and D are m x n, A is m x k, B is k x n.
template <class T>
using Gemm = void(int64_t m, int64_t n, int64_t k, T alpha, GemmMatrix<T> a, GemmMatrix<T> b, T beta, GemmMatrix<T> d,
                  T* c, int64_t c_row_stride, int64_t c_col_stride);

// One product per batch index. Each operand advances by its batch stride, which is 0 if all products share a matrix
// (not allowed for C).
template <class T>
using GemmBatched = void(int64_t batch, int64_t m, int64_t n, int64_t k, T alpha, GemmMatrix<T> a,
                         int64_t a_batch_stride, GemmMatrix<T> b, int64_t b_batch_stride, T beta, T* c,
                         int64_t c_row_stride, int64_t c_col_stride, int64_t c_batch_stride);

inline constinit Kernel<Gemm<float>> sgemm;
inline constinit Kernel<Gemm<double>> dgemm;
inline constinit Kernel<GemmBatched<float>> sgemm_batched;
inline constinit Kernel<GemmBatched<double>> dgemm_batched;

// dtype: float16 or bfloat16, for all three matrices.
inline constinit Kernel<void(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, float alpha,
                             GemmMatrix<uint16_t> a, int64_t a_batch_stride, GemmMatrix<uint16_t> b,
                             int64_t b_batch_stride, float beta, uint16_t* c, int64_t c_row_stride,
                             int64_t c_col_stride, int64_t c_batch_stride)>
    hgemm_batched;

}  // namespace genesis::kernels
