// Random fills. Each is a function of a seed and the first counter (core/random.h defines the words that an element
// uses). `y` is contiguous.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"
#include "kernels/work.h"

namespace genesis::kernels {

struct Draw {
  uint64_t seed, counter;

  template <class A>
  void arguments(A& a) {
    a.draw(seed, counter);
  }
};

// For floating y: uniform on [low, high); normal with mean and std.
inline constinit Kernel<void(View y, Draw draw, double low, double high)> uniform;
inline constinit Kernel<void(View y, Draw draw, double mean, double std)> normal;
inline constinit Kernel<void(View y, Draw draw, double mean, double std)> log_normal;  // exp of a normal number
inline constinit Kernel<void(View y, Draw draw, double rate)> exponential;
inline constinit Kernel<void(View y, Draw draw, double median, double scale)> cauchy;
// For any dtype: the number of trials up to the first success, at least 1.
inline constinit Kernel<void(View y, Draw draw, double p)> geometric;
// 1 with probability p, otherwise 0. bernoulli_each takes p[i], contiguous float64.
inline constinit Kernel<void(View y, Draw draw, double p)> bernoulli;
inline constinit Kernel<void(View y, View p, Draw draw)> bernoulli_each;
// Integers low .. low + range - 1, where range 0 means 2^64.
inline constinit Kernel<void(View y, Draw draw, int64_t low, uint64_t range)> integers;
// y = x / (1 - p) with probability 1 - p, otherwise 0. x is contiguous, with y's dtype. If kept is not null, bit i % 32
// of kept[i / 32] is set if element i was kept; dropout_again repeats the operation from those bits.
inline constinit Kernel<void(View y, View x, uint32_t* kept, Draw draw, double p)> dropout;
inline constinit Kernel<void(View y, View x, const uint32_t* kept, double p)> dropout_again;

// The number of counters for `elements`. A counter has four words.
inline uint64_t counters_for(int64_t elements, int words) {
  const int64_t per_counter = 4 / words;
  return static_cast<uint64_t>(ceil_div(elements, per_counter));
}

}  // namespace genesis::kernels
