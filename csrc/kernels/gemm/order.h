// In which order a product sums, so that a plan may replace it by another one that gives the same bits.
#pragma once

#include "kernels/gemm/gemm.h"

namespace genesis::kernels {

// An element of C that is a sum over at most so many steps is rounded like a product, then an addition of D.
inline constexpr int64_t kOneSum = 384;

// Whether tiles compute it: the sum of an element then depends on k alone, not on the shape and strides of operands.
inline constinit Kernel<bool(int64_t m, int64_t n, int64_t k, GemmMatrix<float> a, GemmMatrix<float> b)> sgemm_in_tiles;
inline constinit Kernel<bool(int64_t m, int64_t n, int64_t k, GemmMatrix<double> a, GemmMatrix<double> b)>
    dgemm_in_tiles;

}  // namespace genesis::kernels
