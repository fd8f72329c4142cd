// Random fills. Each is a function of a seed and of the first counter (core/random.h says which words an element
// takes). `y` is contiguous.
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

// Floating y. uniform on [low, high); normal with mean and std.
inline constinit Kernel<void(View y, Draw draw, double low, double high)> uniform;
inline constinit Kernel<void(View y, Draw draw, double mean, double std)> normal;
inline constinit Kernel<void(View y, Draw draw, double mean, double std)> log_normal;  // exp of that
inline constinit Kernel<void(View y, Draw draw, double rate)> exponential;
inline constinit Kernel<void(View y, Draw draw, double median, double scale)> cauchy;
// Any dtype. The number of trials up to the first success, at least 1.
inline constinit Kernel<void(View y, Draw draw, double p)> geometric;
// 1 with probability p, else 0; or p[i], contiguous float64.
inline constinit Kernel<void(View y, Draw draw, double p)> bernoulli;
inline constinit Kernel<void(View y, View p, Draw draw)> bernoulli_each;
// Integers low .. low + range - 1, where range 0 stands for 2^64.
inline constinit Kernel<void(View y, Draw draw, int64_t low, uint64_t range)> integers;
// y = x / (1 - p) with probability 1 - p, else 0. x contiguous, of y's dtype. If kept is not null, bit i % 32 of
// kept[i / 32] tells whether element i was kept; dropout_again does the same once more by those bits.
inline constinit Kernel<void(View y, View x, uint32_t* kept, Draw draw, double p)> dropout;
inline constinit Kernel<void(View y, View x, const uint32_t* kept, double p)> dropout_again;

// Elements that a counter serves: four where an element takes one word, two where it takes two.
inline uint64_t counters_for(int64_t elements, int words) {
  const int64_t per_counter = 4 / words;
  return static_cast<uint64_t>(ceil_div(elements, per_counter));
}

}  // namespace genesis::kernels
