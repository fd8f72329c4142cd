// Selection between values, elementwise over broadcast views.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// y = c ? a : b, for any dtype of y.
inline constinit Kernel<void(View y, View c, View a, View b)> where;
// The larger (smaller) of two values; NaN if either is NaN.
inline constinit Binary maximum, minimum;
// The same, but NaN only if both are NaN.
inline constinit Binary fmax, fmin;
// min(max(x, lo), hi); NaN if any operand is NaN.
inline constinit Kernel<void(View y, View x, View lo, View hi)> clamp;

// The same for two numbers, neither of which is NaN: the first pair bounds floating tensors, the second others. Bounds
// of small integers must fit in int32.
struct Bounds {
  double lo, hi;
  int64_t whole_lo, whole_hi;

  template <class A>
  void arguments(A&) {}  // only numbers
};
inline constinit Kernel<void(View y, View x, Bounds bounds)> clamp_numbers;
// 0 for a < 0, b for a = 0, 1 for a > 0.
inline constinit Binary heaviside;
// Floating point only.
inline constinit Kernel<void(View y, View x, double nan, double posinf, double neginf)> nan_to_num;

// Gradients with respect to the operands. `share` is the gradient of maximum(a, b) with respect to a: dy, half of it if
// a and b are equal, 0 if a is smaller. `within`: dy where lo <= x <= hi, otherwise 0.
inline constinit Kernel<void(View da, View dy, View a, View b)> share;
inline constinit Kernel<void(View dx, View dy, View x, double lo, double hi)> within;

}  // namespace genesis::kernels
