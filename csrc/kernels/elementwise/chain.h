// A chain of arithmetic on contiguous memory. Each operation takes the result of the previous one, which stays in
// registers. Fused groups of compiled functions (plan/tiles.h) use it.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

namespace chain {
// acc is the previous result, x the operand at data[i] of operation i. The reversed operations are x - acc and x / acc.
enum Code : uint8_t { Load, Store, Add, Sub, SubReversed, Mul, Div, DivReversed, Negate, Double, Square };
inline constexpr uint8_t kSingle = 16;  // flag added to a code: x is one value for all elements
}  // namespace chain

// T is float or double. The first code must be Load.
inline constinit Kernel<void(const uint8_t* codes, char* const* data, int count, int64_t n, DType type)> run_chain;

}  // namespace genesis::kernels
