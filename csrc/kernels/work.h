// How loops are split into tasks: the amount of work that justifies a task, a few microseconds, and the number of
// parts.
#pragma once

#include <cstdint>

namespace genesis::kernels {

inline constexpr int64_t kTaskWork = int64_t{1} << 18;  // multiply-adds of a task: about 3 us

// Elements of a task, depending on the cost of an element.
inline constexpr int64_t kLightGrain = 32768;  // memory-bound, such as a sum
inline constexpr int64_t kGrain = 16384;       // some arithmetic, such as exp
inline constexpr int64_t kHeavyGrain = 8192;   // much arithmetic, such as a general power

// The number of parts of size b that cover a; a >= 0, b > 0.
inline constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace genesis::kernels
