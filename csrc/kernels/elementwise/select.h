// Choosing between values, elementwise over broadcast views.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// y = c ? a : b; y of any dtype.
inline constinit Kernel<void(View y, View c, View a, View b)> where;
// The larger (smaller) of two; NaN if either is.
inline constinit Binary maximum, minimum;
// The same, but NaN only if both are.
inline constinit Binary fmax, fmin;
// min(max(x, lo), hi); NaN if any is.
inline constinit Kernel<void(View y, View x, View lo, View hi)> clamp;

// The same for two numbers, of which neither is NaN: the first pair bounds floating tensors, the second others. Bounds
// of small integers must fit in int32.
struct Bounds {
  double lo, hi;
  int64_t whole_lo, whole_hi;

  template <class A>
  void arguments(A&) {}  // numbers only
};
inline constinit Kernel<void(View y, View x, Bounds bounds)> clamp_numbers;
// 0 for a < 0, b for a = 0, 1 for a > 0.
inline constinit Binary heaviside;
// Floating only.
inline constinit Kernel<void(View y, View x, double nan, double posinf, double neginf)> nan_to_num;

// The parts of a gradient that reach the operands. `share`: what maximum(a, b) gives to a, which is dy, half of it
// where a and b are equal, nothing where a is smaller. `within`: dy where lo <= x <= hi, else 0.
inline constinit Kernel<void(View da, View dy, View a, View b)> share;
inline constinit Kernel<void(View dx, View dy, View x, double lo, double hi)> within;

}  // namespace genesis::kernels
