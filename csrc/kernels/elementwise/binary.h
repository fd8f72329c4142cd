// Floating-point functions of two or three numbers.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Binary atan2, hypot, copysign;
inline constinit Binary logaddexp;   // log(exp(a) + exp(b))
inline constinit Binary logaddexp2;  // the same in base 2
inline constinit Kernel<void(View y, View a, View b, View weight)> lerp;
// x + value a b and x + value a / b, with `value` rounded to the compute dtype.
inline constinit Kernel<void(View y, View x, View a, View b, double value)> addcmul, addcdiv;
// addcmul for integers, which wrap around.
inline constinit Kernel<void(View y, View x, View a, View b, int64_t value)> addcmul_integer;

}  // namespace genesis::kernels
