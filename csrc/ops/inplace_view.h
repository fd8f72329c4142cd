// In-place forms of operators that return views: x.unsqueeze_(0) gives x itself the shape that x.unsqueeze(0) has.
#pragma once

#include "ops/inplace.h"
#include "ops/memory_format.h"

namespace genesis::ops {

// What x is before such a change, with x's history; raises if x may not be changed.
Tensor begin_view(const char* op, const Tensor& x);
// Gives x the shape, the strides and the place in the graph of `result`, a view made of that.
Tensor finish_view(const char* op, const Tensor& x, const Tensor& result);

template <class F>
Tensor inplace_view(const char* op, const Tensor& x, F&& f) {
  return finish_view(op, x, f(begin_view(op, x)));
}

// Gives x another shape over its own memory, with more of it (not initialised) where that does not suffice. The
// elements keep their places in memory.
Tensor resize_(const char* op, const Tensor& x, const Dims& shape, MemoryFormat format);

}  // namespace genesis::ops
