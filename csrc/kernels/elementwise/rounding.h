// Rounding, and division with a whole quotient.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Floating only; `round` breaks ties to even.
inline constinit Unary floor, ceil, trunc, round, frac;
// To `decimals` places after the point (before it, if negative).
inline constinit Kernel<void(View y, View x, int64_t decimals)> round_decimals;

// The quotient rounded down or towards 0, and what is left: `remainder` has the sign of b, `fmod` that of a. Integers
// wrap where the quotient does not fit; the answer is whether an integer divisor was 0, where the result is 0.
using Divide = Kernel<bool(View y, View a, View b)>;
inline constinit Divide div_floor, div_trunc, remainder, fmod;

}  // namespace genesis::kernels
