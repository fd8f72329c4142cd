// A chain of arithmetic on contiguous memory: every operation takes the result of the one before, which stays in
// registers. Fused groups of compiled functions (plan/tiles.h) use it.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

namespace chain {
// acc is the result so far, x the operand at data[i] of operation i. The reversed operations are x - acc and x / acc.
enum Code : uint8_t { Load, Store, Add, Sub, SubReversed, Mul, Div, DivReversed, Negate, Double, Square };
inline constexpr uint8_t kSingle = 16;  // added to a code: x is one value for all elements
}  // namespace chain

// T is float or double. The first code is Load.
inline constinit Kernel<void(const uint8_t* codes, char* const* data, int count, int64_t n, DType type)> run_chain;

}  // namespace genesis::kernels
