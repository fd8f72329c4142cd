// Powers. Floating point as C's pow. Integers wrap around, and fractions such as 2^-1 become 0.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Binary pow;
// a log(b), or 0 if a is 0 and b is not NaN.
inline constinit Binary xlogy;
// x to a fixed power. Small integer and half-integer exponents use products and roots. For integers, `exponent` is an
// integer >= 0.
inline constinit Kernel<void(View y, View x, double exponent)> pow_scalar;
// dy * exponent * x^(exponent - 1), for the backward pass.
inline constinit Kernel<void(View dx, View dy, View x, double exponent)> pow_scalar_backward;

}  // namespace genesis::kernels
