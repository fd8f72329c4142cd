// The sum and the maximum of floating-point numbers as monoids for reduce/loops.h. Included by kernel files, which are
// compiled per instruction set.
#pragma once

#include <limits>

#include "kernels/kernel.h"

namespace genesis::kernels::GENESIS_ISA {

template <class T>
struct Sum {
  using In = T;
  using Lane = T;
  using Acc = double;
  static constexpr int kStart = 0;
  template <class V>
  static V op(V a, V b) {
    return a + b;
  }
  template <class V>
  static V map(V x) {
    return x;
  }
};
template <class T>
struct Max : Sum<T> {
  using Acc = T;
  static constexpr T kStart = -std::numeric_limits<T>::infinity();
  template <class V>
  static V op(V a, V b) {
    const V larger = b > a ? b : a;  // one instruction, which misses a NaN in b
    return b != b ? b : larger;
  }
};

}  // namespace genesis::kernels::GENESIS_ISA
