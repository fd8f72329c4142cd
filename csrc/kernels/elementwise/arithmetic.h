// Arithmetic, elementwise over broadcast views. The output's dtype is the type of the computation.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

using Unary = Kernel<void(View y, View x)>;
using Binary = Kernel<void(View y, View a, View b)>;

// Integers wrap around; + on bool is `or`, * is `and`.
inline constinit Binary add, sub, mul, div;
// a + alpha b; a number is `real` to floating tensors and `whole` to others.
struct Factor {
  double real;
  int64_t whole;

  template <class A>
  void arguments(A&) {}  // numbers only
};
inline constinit Kernel<void(View y, View a, View b, Factor alpha)> add_scaled;
inline constinit Unary neg, abs, sign, square, reciprocal;

}  // namespace genesis::kernels
