// Draws whose elements depend on one another: permutations, and samples from weighted categories.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"
#include "kernels/random.h"

namespace genesis::kernels {

// y (int64, contiguous) becomes a permutation of 0 .. n - 1; takes n / 2 counters.
inline constinit Kernel<void(View y, Draw draw)> permutation;
// y (rows x n, int64) from weights (rows x k, float64), both contiguous; weights are finite, not negative, not all 0,
// and at least n of them are positive without replacement. A row takes counters_for(replacement ? n : k, 2) counters.
inline constinit Kernel<void(View y, View weights, Draw draw, bool replacement)> multinomial;
// y[i] (floating) with mean rate[i] (float64, contiguous); element i uses counter `draw.counter + i` alone.
inline constinit Kernel<void(View y, View rate, Draw draw)> poisson;

}  // namespace genesis::kernels
