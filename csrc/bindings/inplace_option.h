// Functions of nn.functional that take inplace=True.
#pragma once

#include "bindings/args.h"

namespace genesis::py {

// f(x, out) for the first argument, in place if `inplace`.
template <class F>
Tensor run(Args& a, bool inplace, const char* op, F&& f, ops::Overlap allowed = ops::Overlap::None) {
  if (!inplace) return f(a.tensor(0), ops::Out{});
  return ops::inplace(op, a.tensor(0), {}, f, allowed);
}

}  // namespace genesis::py
