// Powers. Floating: as C's pow. Integers: wrapping, and what is not an integer becomes 0 (2 to the -1).
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Binary pow;
// a log(b), and 0 where a is 0 and b is not NaN.
inline constinit Binary xlogy;
// x to a fixed power: small whole and half powers are products and roots. For integers `exponent` is whole, >= 0.
inline constinit Kernel<void(View y, View x, double exponent)> pow_scalar;
// dy * exponent * x^(exponent - 1), for the backward pass.
inline constinit Kernel<void(View dx, View dy, View x, double exponent)> pow_scalar_backward;

}  // namespace genesis::kernels
