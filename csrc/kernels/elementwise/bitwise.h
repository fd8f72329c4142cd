// Bitwise operations on integers and bool, and gcd and lcm of integers.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Binary bitwise_and, bitwise_or, bitwise_xor;
inline constinit Unary bitwise_not;
// If the shift is negative or at least the width, the result is 0, or the sign for an arithmetic right shift.
inline constinit Binary left_shift, right_shift;
inline constinit Binary gcd, lcm;  // never negative

}  // namespace genesis::kernels
