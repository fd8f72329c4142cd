// Long loops that check for Ctrl-C at intervals. Included by kernel files, which are compiled per instruction set.
#pragma once

#include <algorithm>

#include "core/parallel.h"

namespace genesis::kernels::GENESIS_ISA {

inline constexpr int64_t kStep = int64_t{1} << 14;
// For elements written at random positions: each may be the first on its 2 MB page, which the kernel clears on first
// access.
inline constexpr int64_t kScatterStep = 64;

// Calls f(begin, end) for parts of at most `step` elements.
template <class F>
[[gnu::always_inline]] inline void in_steps(int64_t begin, int64_t end, int64_t step, F f) {
  for (;;) {
    const int64_t until = end - begin > step ? begin + step : end;
    f(begin, until);  // called in one place, so that it is inlined
    if (until == end) return;
    begin = until;
    check_interrupt();
  }
}

inline constexpr int64_t kLongSort = int64_t{1} << 16;  // shorter sorts need no checks

template <class It>
void sort_in_steps(It first, It last) {
  if (last - first < kLongSort) return std::sort(first, last);
  Pace pace;
  std::sort(first, last, [&](const auto& a, const auto& b) {
    pace.spend(1);
    return a < b;
  });
}
template <class It>
void nth_element_in_steps(It first, It nth, It last) {
  if (last - first < kLongSort) return std::nth_element(first, nth, last);
  Pace pace;
  std::nth_element(first, nth, last, [&](const auto& a, const auto& b) {
    pace.spend(1);
    return a < b;
  });
}

}  // namespace genesis::kernels::GENESIS_ISA
