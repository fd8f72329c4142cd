// Comparisons and logic: any dtype in, bool out.
#pragma once

#include "core/view.h"
#include "kernels/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Compared in the compute type of `in`.
using Compare = Kernel<void(View y, View a, View b, DType in)>;
inline constinit Compare eq, ne, lt, le, gt, ge;

inline constinit Binary logical_and, logical_or, logical_xor;
inline constinit Unary logical_not;
// x must be floating.
inline constinit Unary isnan, isinf, isfinite;

}  // namespace genesis::kernels
