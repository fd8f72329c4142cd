// Comparisons and logic: any dtype in, bool out.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Compared in the compute type of `in`.
using Compare = Kernel<void(View y, View a, View b, DType in)>;
inline constinit Compare eq, ne, lt, le, gt, ge;

inline constinit Binary logical_and, logical_or, logical_xor;
inline constinit Unary logical_not;
inline constinit Unary isnan, isinf, isposinf, isneginf, isfinite;
inline constinit Unary signbit;  // of -0 too

// |a - b| <= atol + rtol |b|, where equal infinities are close, and NaN is to NaN if equal_nan. In the compute type of
// `in`, which is floating.
inline constinit Kernel<void(View y, View a, View b, DType in, double rtol, double atol, bool equal_nan)> isclose;

}  // namespace genesis::kernels
