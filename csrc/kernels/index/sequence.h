// Evenly spaced numbers. `y` is contiguous, of any dtype. Values are computed in float64 (or int64) and rounded once.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// y[i] = start + i * step
inline constinit Kernel<void(View y, double start, double step)> arange;
inline constinit Kernel<void(View y, int64_t start, int64_t step)> arange_integer;
// From start to end, both included and exact. If base != 0, the values are exponents of base.
inline constinit Kernel<void(View y, double start, double end, double base)> linspace;

}  // namespace genesis::kernels
