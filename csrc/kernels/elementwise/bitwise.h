// Integers as bits, and as multiples. bool takes part in the bitwise operations.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Binary bitwise_and, bitwise_or, bitwise_xor;
inline constinit Unary bitwise_not;
// A negative or too large shift moves everything out: 0, or the sign where an arithmetic shift goes right.
inline constinit Binary left_shift, right_shift;
inline constinit Binary gcd, lcm;  // never negative

}  // namespace genesis::kernels
