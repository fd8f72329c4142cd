// Cumulative operations along one dimension. Outputs have the shape of x and new, contiguous memory. Results are
// bitwise identical for any number of threads.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// In the compute dtype of y (int64 for integers); float32 is accumulated in float64. From the end if `reverse`.
inline constinit Kernel<void(View y, View x, int dim, bool reverse)> cumsum, cumprod;

// The others take views of one dtype, float32 or float64 (or int64 for extrema); `indices` is int64.
inline constinit Kernel<void(View values, View indices, View x, int dim)> cummax{.writes = 0b11},
    cummin{.writes = 0b11};
inline constinit Kernel<void(View y, View x, int dim)> logcumsumexp;
// y[i] = b[i] + a[i] y[i - 1], where y[-1] is 0; or with i + 1 and from the end.
inline constinit Kernel<void(View y, View a, View b, int dim, bool reverse)> linear_scan;

}  // namespace genesis::kernels
