// Reductions. Outputs have the shape of `x` with size 1 along the reduced dimensions. Each output has at least one
// element of `x` (the operators handle empty reductions). Results are bitwise identical for any number of threads.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// sum(x) / divisor in the compute dtype of y (int64 for integers, which require divisor 1).
inline constinit Kernel<void(View y, View x, double divisor)> sum;
// A sum of all elements of a contiguous tensor of float32 or float64: `chunks` of `chunk` elements, each a float64 sum
// of blocks, and then the sum of those.
inline constexpr int64_t kSumBlock = 4096;
struct SumCut {
  int64_t chunk, chunks;
  explicit SumCut(int64_t n);
};
inline constinit Kernel<double(const void* x, DType dtype, int64_t n)> sum_block;
inline constinit Kernel<void(View y, View x)> prod;
inline constinit Kernel<void(View y, View x)> any, all;       // y is bool, x has any dtype
inline constinit Kernel<void(View y, View x)> count_nonzero;  // y is int64
// (sum |x|^p)^(1/p) for p = 1, 2, and inf (the largest magnitude).
inline constinit Kernel<void(View y, View x, double p)> norm;

// NaN propagates.
inline constinit Kernel<void(View y, View x)> amax, amin;
// Along one dimension: the extremum and its first position. `values` may have no data.
inline constinit Kernel<void(View values, View indices, View x)> max_index{.writes = 0b11}, min_index{.writes = 0b11};

// Along one dimension, by rank: the lower of the two middle elements (NaN if there is one, or ignoring NaN), and the
// most frequent element (the smallest of several). Indices refer to one such element. x has its compute dtype or half
// precision.
inline constinit Kernel<void(View values, View indices, View x)> median{.writes = 0b11}, nanmedian{.writes = 0b11},
    mode{.writes = 0b11};

// The sum of squared deviations from the mean, divided by n - correction, or its square root if `root`. `mean` may have
// no data.
inline constinit Kernel<void(View y, View mean, View x, double correction, bool root)> variance{.writes = 0b11};
inline constinit Kernel<void(View y, View x)> logsumexp;

}  // namespace genesis::kernels
