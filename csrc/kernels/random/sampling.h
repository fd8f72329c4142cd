// Draws that take no fixed number of words: permutations, weighted categories, and variates found by rejection.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"
#include "kernels/random/random.h"

namespace genesis::kernels {

// y (int64, contiguous) becomes a permutation of 0 .. n - 1; takes n / 2 counters.
inline constinit Kernel<void(View y, Draw draw)> permutation;
// y (rows x n, int64) from weights (rows x k, float64), both contiguous; weights are finite, not negative, not all 0,
// and at least n of them are positive without replacement. A row takes counters_for(replacement ? n : k, 2) counters.
inline constinit Kernel<void(View y, View weights, Draw draw, bool replacement)> multinomial;
// y[i] (floating) with mean rate[i] (float64, contiguous); element i uses counter `draw.counter + i` alone.
inline constinit Kernel<void(View y, View rate, Draw draw)> poisson;
// The logarithm of a gamma variate of shape `shape[i]` and scale 1, with the same layout. A logarithm, because variates
// of small shapes are below what a double holds.
inline constinit Kernel<void(View y, View shape, Draw draw)> log_gamma_variate;
// Successes among count[i] trials of probability p[i], with the same layout.
inline constinit Kernel<void(View y, View count, View p, Draw draw)> binomial;

}  // namespace genesis::kernels
