// Running sums and their like along one dimension. Outputs have the shape of x and new, contiguous memory; results are
// bitwise the same for any number of threads.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// In the compute type of y (integers in int64), float32 accumulated in float64; from the end if `reverse`.
inline constinit Kernel<void(View y, View x, int dim, bool reverse)> cumsum, cumprod;

// The rest take views of one type, float32 or float64 (or int64 for extremes); `indices` is int64.
inline constinit Kernel<void(View values, View indices, View x, int dim)> cummax{.writes = 0b11},
    cummin{.writes = 0b11};
inline constinit Kernel<void(View y, View x, int dim)> logcumsumexp;
// y[i] = b[i] + a[i] y[i - 1], the one before the first being 0; or with i + 1 and from the end.
inline constinit Kernel<void(View y, View a, View b, int dim, bool reverse)> linear_scan;

}  // namespace genesis::kernels
