// The order of summation of a product, which lets a plan replace it by another product with bitwise identical results.
#pragma once

#include "kernels/gemm/gemm.h"

namespace genesis::kernels {

// Up to this many terms, an element of C is rounded as a product followed by an addition of D.
inline constexpr int64_t kOneSum = 384;

// Whether the product is computed with tiles. The order of summation then depends on k only, not on the shape and
// strides of the operands.
inline constinit Kernel<bool(int64_t m, int64_t n, int64_t k, GemmMatrix<float> a, GemmMatrix<float> b)> sgemm_in_tiles;
inline constinit Kernel<bool(int64_t m, int64_t n, int64_t k, GemmMatrix<double> a, GemmMatrix<double> b)>
    dgemm_in_tiles;

}  // namespace genesis::kernels
