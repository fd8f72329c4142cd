// Values that lie in memory of no tensor, such as numbers of a program.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

struct Literal {
  const char* data;
  int64_t bytes;
  template <class A>
  void arguments(A& a) {
    a.array(data, bytes);
  }
};
// Copies them to `dst`, which is contiguous.
inline constinit Kernel<void(View dst, Literal values)> write_literal;

}  // namespace genesis::kernels
