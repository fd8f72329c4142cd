// Rounding, and division with an integer quotient.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Floating point only; `round` rounds ties to even.
inline constinit Unary floor, ceil, trunc, round, frac;
// Rounds to `decimals` places after the decimal point (before it, if negative).
inline constinit Kernel<void(View y, View x, int64_t decimals)> round_decimals;

// The quotient rounded down or towards 0, and the remainder: `remainder` has the sign of b, `fmod` that of a. Integers
// wrap around if the quotient does not fit. Returns whether an integer divisor was 0; the result is then 0.
using Divide = Kernel<bool(View y, View a, View b)>;
inline constinit Divide div_floor, div_trunc, remainder, fmod;

}  // namespace genesis::kernels
