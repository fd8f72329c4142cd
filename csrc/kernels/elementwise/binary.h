// Floating functions of two or three numbers.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Binary atan2, hypot, copysign;
inline constinit Binary logaddexp;   // log(exp(a) + exp(b))
inline constinit Binary logaddexp2;  // the same to base 2
inline constinit Kernel<void(View y, View a, View b, View weight)> lerp;
// x + value a b and x + value a / b; `value` is rounded to the type of the computation.
inline constinit Kernel<void(View y, View x, View a, View b, double value)> addcmul, addcdiv;
// addcmul of integers, which wrap.
inline constinit Kernel<void(View y, View x, View a, View b, int64_t value)> addcmul_integer;

}  // namespace genesis::kernels
