// Arithmetic, elementwise over broadcast views. The computation uses the output's dtype.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

using Unary = Kernel<void(View y, View x)>;
using Binary = Kernel<void(View y, View a, View b)>;

// Integers wrap around. For bool, + is `or` and * is `and`.
inline constinit Binary add, sub, mul, div;
// a + alpha b. The factor is `real` for floating tensors and `whole` for others.
struct Factor {
  double real;
  int64_t whole;

  template <class A>
  void arguments(A&) {}  // only numbers
};
inline constinit Kernel<void(View y, View a, View b, Factor alpha)> add_scaled;
inline constinit Unary neg, abs, sign, square, reciprocal;

}  // namespace genesis::kernels
