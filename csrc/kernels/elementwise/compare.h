// Comparisons and logical operations: inputs of any dtype, output bool.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Operands are compared in the compute dtype of `in`.
using Compare = Kernel<void(View y, View a, View b, DType in)>;
inline constinit Compare eq, ne, lt, le, gt, ge;

inline constinit Binary logical_and, logical_or, logical_xor;
inline constinit Unary logical_not;
inline constinit Unary isnan, isinf, isposinf, isneginf, isfinite;
inline constinit Unary signbit;  // also true for -0

// |a - b| <= atol + rtol |b|. Equal infinities are close, and so are NaNs if equal_nan. The comparison uses the compute
// dtype of `in`, which is floating point.
inline constinit Kernel<void(View y, View a, View b, DType in, double rtol, double atol, bool equal_nan)> isclose;

}  // namespace genesis::kernels
